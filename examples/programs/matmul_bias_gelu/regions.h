// What the scaffold calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include "stitch/runtime/errors.h"

constexpr int batch = 100, inputs_of_layer = 260, outputs_of_layer = 180;

// Once, at create: the weight as the product reads it.
StitchStatus pack_weight(const float* weight,  // (180, 260)
                         float* packed,        // (260, 180)
                         cudaStream_t stream);

StitchStatus enqueue_linear_gelu(const float* x,       // (100, 260)
                                 const float* packed,  // (260, 180)
                                 const float* bias,    // (180)
                                 float* gelu,          // (100, 180)
                                 cudaStream_t stream);
