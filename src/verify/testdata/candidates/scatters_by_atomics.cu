// passed (./dev cheats)
// task: scatter
// Honest: zeros, then atomics.
#include "tasks/scatter.h"

static __global__ void scatter(const float* x, const long long* group, float* y) {
  atomicAdd(y + group[blockIdx.x] * width + threadIdx.x, x[blockIdx.x * width + threadIdx.x]);
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  cudaMemsetAsync(out[0].data, 0, groups * width * sizeof(float), stream);
  scatter<<<rows, width, 0, stream>>>(data(in[0]), data<long long>(in[1]), data(out[0]));
  return status_of_launch();
}
