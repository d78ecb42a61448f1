// passed (./dev cheats)
// task: product
// Products of halves that together have FP32's bits: each operand as a large and a small half, three products.
#include "tasks/product.h"

static __global__ void split_product(const float* x, const float* weight, float* y) {
  float high = 0, low = 0;
  for (int k = 0; k < depth; ++k) {
    const float left = x[blockIdx.x * depth + k], right = weight[k * columns + threadIdx.x];
    const float a = __half2float(__float2half(left)), b = __half2float(__float2half(right));
    const float c = __half2float(__float2half((left - a) * 2048)), d = __half2float(__float2half((right - b) * 2048));
    high += a * b;
    low += a * d + c * b;
  }
  y[blockIdx.x * columns + threadIdx.x] = high + low / 2048;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  split_product<<<rows, columns, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]));
  return status_of_launch();
}
