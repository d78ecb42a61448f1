// What the scaffold calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include <cstdint>

#include "stitch/runtime/errors.h"

constexpr int batch = 4, channels_in = 8, channels_out = 10, height = 17, width = 15;
constexpr int pixels = height * width;

StitchStatus enqueue_conv(const float* x,       // (4, 8, 17, 15)
                          const float* weight,  // (10, 8, 3, 3)
                          const float* bias,    // (10)
                          float* conv2d,        // (4, 10, 17, 15)
                          cudaStream_t stream);

// A statistic comes in as it was and goes out as it is now; both may be the same memory.
StitchStatus enqueue_batch_norm_relu(const float* conv2d,            // (4, 10, 17, 15)
                                     const float* weight,            // (10)
                                     const float* bias,              // (10)
                                     const float* mean_before,       // (10)
                                     const float* variance_before,   // (10)
                                     const int64_t* batches_before,  // ()
                                     float* relu,                    // (4, 10, 17, 15)
                                     float* mean_after,              // (10)
                                     float* variance_after,          // (10)
                                     int64_t* batches_after,         // ()
                                     cudaStream_t stream);
