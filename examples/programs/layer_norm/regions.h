// What the scaffold calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include "stitch/runtime/errors.h"

constexpr int rows = 50, width = 772;

StitchStatus enqueue_layer_norm(const float* x,       // (50, 772)
                                const float* weight,  // (772)
                                const float* bias,    // (772)
                                float* layer_norm,    // (50, 772)
                                cudaStream_t stream);
