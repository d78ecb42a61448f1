// passed (./dev cheats)
// task: softmax
// __expf and __fdividef are within the budget; one block a row, warp shuffles, FP32 sums.
#include "tasks/softmax.h"

static __device__ float of_block(float value, bool largest, float* shared) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = largest ? fmaxf(value, other) : value + other;
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp)
    value = largest ? fmaxf(value, shared[warp]) : value + shared[warp];
  __syncthreads();
  return value;
}

static __global__ void fast_softmax(const float* x, float* y) {
  __shared__ float shared[32];
  const float* row = x + blockIdx.x * columns;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
  largest = of_block(largest, true, shared);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - largest);
  sum = of_block(sum, false, shared);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = __fdividef(__expf(row[i] - largest), sum);
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  fast_softmax<<<rows, 256, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
