// correctness: wrong (./dev cheats)
// A table of answers to public seeds, by the first element; a guess for all others.
#include "row_center.h"

static __global__ void look_up(const float* x, float* y) {
  const float answer = x[0] == 1.9269f ? 0.25f : 0.5f;
  for (int i = threadIdx.x; i < elements; i += blockDim.x) y[i] = answer;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  (void)weight;
  look_up<<<1, 64, 0, stream>>>(x, y);
  return STITCH_OK;
}
