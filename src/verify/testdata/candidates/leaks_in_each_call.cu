// conduct: leaks | passed on cuda — memory there comes in large pieces, and is others' too
// Scratch memory in every call, never freed.
#include "row_center.h"

static __global__ void copy(const float* from, float* to) { to[blockIdx.x * columns + threadIdx.x] = from[blockIdx.x * columns + threadIdx.x]; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  float* scratch = nullptr;
  if (cudaMalloc(&scratch, elements * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  copy<<<rows, columns, 0, stream>>>(x, scratch);
  return honest(scratch, weight, y, stream);
}
