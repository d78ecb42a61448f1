// passed | correctness: wrong on cuda | not_finite on cuda | conduct: not_repeatable on cuda | unwritten on cuda — threads of the emulated GPU take turns at barriers alone (./dev cheats)
// Thirteen threads add to one number without atomics: most of what they add is lost where they run at once.
#include "row_center.h"

static __global__ void clear(float* sums) { sums[threadIdx.x] = 0; }
static __global__ void add_up(const float* x, float* sums) {
  float sum = 0;
  const int begin = threadIdx.x * 5;
  for (int i = begin; i < begin + 5; ++i) sum += x[blockIdx.x * columns + i];
  sums[blockIdx.x] += sum;
}
static __global__ void take_off(const float* x, const float* weight, const float* sums, float* y) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - sums[blockIdx.x] / columns) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* sums = [] {
    float* made;
    cudaMalloc(&made, rows * sizeof(float));
    return made;
  }();
  clear<<<1, rows, 0, stream>>>(sums);
  add_up<<<rows, 13, 0, stream>>>(x, sums);
  take_off<<<rows, 64, 0, stream>>>(x, weight, sums, y);
  return STITCH_OK;
}
