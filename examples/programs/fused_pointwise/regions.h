// What the scaffold calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include "stitch/runtime/errors.h"

constexpr int batch = 8, channels = 33, length = 100;

StitchStatus enqueue_gated_residual(const float* x,         // (8, 33, 100)
                                    const float* residual,  // (8, 33, 100)
                                    const float* scale,     // (33)
                                    const float* shift,     // (33)
                                    float* add_1,           // (8, 33, 100)
                                    cudaStream_t stream);
