// correctness: wrong | not_finite | passed on cuda | correctness: wrong on cuda | not_finite on cuda | conduct: not_repeatable on cuda | stale on cuda — fresh memory may hold what it hopes for; initcheck sees it (--sanitizer) (./dev cheats)
// Adds to memory that it takes for zeros.
#include "row_center.h"

static __global__ void add(const float* x, const float* weight, const float* rest, float* y) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i];
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - sum / columns) * weight[i] + rest[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* rest = [] {
    float* made;
    cudaMalloc(&made, columns * sizeof(float));
    return made;
  }();
  add<<<rows, 64, 0, stream>>>(x, weight, rest, y);
  return STITCH_OK;
}
