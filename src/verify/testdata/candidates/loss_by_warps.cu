// passed (./dev cheats)
// task: cross_entropy
// Honest: a warp a row by shuffles, then atomics onto the mean.
#include "tasks/cross_entropy.h"

static __global__ void clear(float* loss) { *loss = 0; }
static __global__ void losses(const float* logits, const long long* targets, float* loss) {
  const float* row = logits + blockIdx.x * classes;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < classes; i += 32) largest = fmaxf(largest, row[i]);
  for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  for (int i = threadIdx.x; i < classes; i += 32) sum += __expf(row[i] - largest);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) atomicAdd(loss, (__logf(sum) + largest - row[targets[blockIdx.x]]) / rows);
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  clear<<<1, 1, 0, stream>>>(data(out[0]));
  losses<<<rows, 32, 0, stream>>>(data(in[0]), data<long long>(in[1]), data(out[0]));
  return status_of_launch();
}
