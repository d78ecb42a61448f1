// What the scaffold calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include "stitch/runtime/errors.h"

constexpr int rows = 64, columns = 1000;

StitchStatus enqueue_row_softmax(const float* x,  // (64, 1000)
                                 float* softmax,  // (64, 1000)
                                 cudaStream_t stream);
