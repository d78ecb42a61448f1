// conduct: out_of_bounds | passed on cuda — compute-sanitizer sees it there (./dev cheats)
// Each row is read together with the element before it, which the first row hasn't. Nobody uses it.
#include "row_center.h"

static __global__ void look_back(const float* x, float* unused) {
  const float before = x[static_cast<int>(blockIdx.x) * columns - 1];
  if (before == 12345.678f) unused[0] = 1;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* unused = nullptr;
  if (!unused) cudaMalloc(&unused, sizeof(float));
  look_back<<<rows, 1, 0, stream>>>(x, unused);
  return honest(x, weight, y, stream);
}
