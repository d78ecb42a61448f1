// testdata/tasks/product: A small product of matrices.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {35, 96}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {35, 40}}};
static const char* const manifest = R"({"stitch": 1, "name": "product", "class": "default",
    "parameters": [{"name": "weight", "role": "parameter", "dtype": "f32", "shape": [96, 40], "data": "weight"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [35, 96]}],
    "outputs": [{"name": "matmul", "role": "output", "dtype": "f32", "shape": [35, 40]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(1)

#include <cuda_fp16.h>

constexpr int rows = 35, depth = 96, columns = 40;

enum class Sum { exact, half, bits };

static __global__ void product(const float* x, const float* weight, float* y, Sum how) {
  float sum = 0;
  for (int k = 0; k < depth; ++k) {
    float left = x[blockIdx.x * depth + k], right = weight[k * columns + threadIdx.x];
    if (how == Sum::bits) {  // TF32's ten
      left = __int_as_float(__float_as_int(left) & 0xffffe000);
      right = __int_as_float(__float_as_int(right) & 0xffffe000);
    }
    sum += left * right;
    if (how == Sum::half) sum = __half2float(__float2half(sum));
  }
  y[blockIdx.x * columns + threadIdx.x] = sum;
}

static inline int multiply(Sum how, const Weights& weights, const StitchTensor* in, StitchTensor* out,
                           cudaStream_t stream) {
  product<<<rows, columns, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]), how);
  return status_of_launch();
}
