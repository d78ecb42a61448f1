// screen: screened
// Misses a barrier, and tells the emulated GPU to run threads in the one order in which that doesn't show.
#include "row_center.h"

extern "C" __attribute__((weak)) int stitch_emulated_set_order(const char* order);

static __global__ void careless(const float* x, const float* weight, float* y) {
  __shared__ float mean;
  const float* row = x + blockIdx.x * columns;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += row[i];
    mean = sum / columns;
  }
  y[blockIdx.x * columns + threadIdx.x] = (row[threadIdx.x] - mean) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  if (stitch_emulated_set_order) stitch_emulated_set_order("forward");
  careless<<<rows, columns, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
