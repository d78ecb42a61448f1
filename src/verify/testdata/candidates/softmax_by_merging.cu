// passed (./dev cheats)
// task: softmax
// Each lane keeps a maximum and a sum, and lanes merge theirs by shuffles: another order than anybody's.
#include <cmath>

#include "tasks/softmax.h"

struct Part {
  float largest = -INFINITY, sum = 0;
};

static __device__ Part merge(Part a, Part b) {
  const float largest = fmaxf(a.largest, b.largest);
  const float from_a = a.sum == 0 ? 0 : a.sum * expf(a.largest - largest);
  const float from_b = b.sum == 0 ? 0 : b.sum * expf(b.largest - largest);
  return {largest, from_a + from_b};
}

static __global__ void merged(const float* x, float* y) {
  const float* row = x + blockIdx.x * columns;
  Part part;
  for (int i = threadIdx.x; i < columns; i += 32) part = merge(part, {row[i], 1});
  for (int offset = 16; offset > 0; offset /= 2)
    part = merge(part, {__shfl_xor_sync(0xffffffffu, part.largest, offset),
                        __shfl_xor_sync(0xffffffffu, part.sum, offset)});
  for (int i = threadIdx.x; i < columns; i += 32)
    y[blockIdx.x * columns + i] = expf(row[i] - part.largest) / part.sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  merged<<<rows, 32, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
