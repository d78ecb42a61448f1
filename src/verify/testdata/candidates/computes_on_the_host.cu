// conduct: host_access | correctness: crashed on cuda
// No kernel does the work: host code reads and writes the device's memory, which is its own where a GPU is
// emulated.
#include "row_center.h"

static __global__ void nothing() {}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  nothing<<<1, 32, 0, stream>>>();
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
    for (int i = 0; i < columns; ++i)
      y[row * columns + i] = (x[row * columns + i] - sum / columns) * weight[i];
  }
  return STITCH_OK;
}
