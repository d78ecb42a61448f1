// testdata/tasks/conv_norm_gelu: Convolution, group norm and GELU, each a kernel.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 4, {4, 3, 24, 24}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 4, {4, 8, 24, 24}}};
static const char* const manifest = R"({"stitch": 1, "name": "conv_norm_gelu", "class": "default",
    "parameters": [{"name": "conv.weight", "role": "parameter", "dtype": "f32", "shape": [8, 3, 3, 3], "data": "conv.weight"},
      {"name": "conv.bias", "role": "parameter", "dtype": "f32", "shape": [8], "data": "conv.bias"},
      {"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [8], "data": "norm.weight"},
      {"name": "norm.bias", "role": "parameter", "dtype": "f32", "shape": [8], "data": "norm.bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [4, 3, 24, 24]}],
    "outputs": [{"name": "gelu", "role": "output", "dtype": "f32", "shape": [4, 8, 24, 24]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(4)

constexpr int samples = 4, channels = 3, filters = 8, groups = 4, size = 24;
constexpr int plane = size * size, of_group = filters / groups * plane;

static __device__ float exactly(float x) { return x; }

// As tensor cores read it: TF32, rounded to the nearest.
static __device__ float in_tf32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
  memcpy(&x, &bits, sizeof x);
  return x;
}

template <float (*read)(float)>
static __global__ void conv(const float* x, const float* w, const float* b, float* y) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= samples * filters * plane) return;
  const int n = e / (filters * plane), f = e / plane % filters, oy = e / size % size, ox = e % size;
  float sum = b[f];
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const int iy = oy + i - 1, ix = ox + j - 1;
        if (iy < 0 || ix < 0 || iy >= size || ix >= size) continue;
        sum += read(x[(n * channels + c) * plane + iy * size + ix]) *
               read(w[((f * channels + c) * 3 + i) * 3 + j]);
      }
  y[e] = sum;
}

static __device__ float gelu(float z) { return 0.5f * z * (1 + erff(z * 0.70710678f)); }
static __device__ float gelu_by_tanh(float z) {
  return 0.5f * z * (1 + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}

// One thread a group, in place; the sum of squares divided by `divisor`.
template <float (*activation)(float), int divisor>
static __global__ void norm(const float* gain, const float* shift, float* y) {
  float* group = y + blockIdx.x * of_group;
  float mean = 0, var = 0;
  for (int i = 0; i < of_group; ++i) mean += group[i];
  mean /= of_group;
  for (int i = 0; i < of_group; ++i) var += (group[i] - mean) * (group[i] - mean);
  const float scale = 1 / sqrtf(var / divisor + 1e-5f);
  for (int i = 0; i < of_group; ++i) {
    const int f = blockIdx.x % groups * (filters / groups) + i / plane;
    group[i] = activation((group[i] - mean) * scale * gain[f] + shift[f]);
  }
}

template <float (*read)(float), float (*activation)(float), int divisor>
static int conv_norm_gelu(const Weights& weights, const StitchTensor* in, StitchTensor* out,
                          cudaStream_t stream) {
  const int total = samples * filters * plane;
  conv<read>
      <<<(total + 127) / 128, 128, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(out[0]));
  norm<activation, divisor>
      <<<samples * groups, 1, 0, stream>>>(weights.data[2], weights.data[3], data(out[0]));
  return status_of_launch();
}
