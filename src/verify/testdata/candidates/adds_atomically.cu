// passed
// Sums by atomics, in whatever order: honest, though two runs need not be equal to the bit.
#define CANDIDATE_WITHOUT_CREATE
#include "row_center.h"

// Sums behind the weights: each program's own.
extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1 || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, (columns + rows) * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static __global__ void add_rows(const float* x, float* sums) {
  atomicAdd(&sums[blockIdx.x], x[blockIdx.x * columns + threadIdx.x]);
}
static __global__ void apply(const float* x, const float* weight, const float* sums, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sums[blockIdx.x] / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  float* sums = const_cast<float*>(weight) + columns;
  cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
  add_rows<<<rows, columns, 0, stream>>>(x, sums);
  apply<<<rows, columns, 0, stream>>>(x, weight, sums, y);
  return STITCH_OK;
}
