// passed (./dev cheats)
// task: norm_gelu
// Honest: a warp a row, Welford's update, partial results merged by shuffles, erff.
#include "tasks/norm_gelu.h"

static __global__ void norm_gelu(const float* x, const float* gain, const float* shift, float* y) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float mean = 0, m2 = 0, count = 0;
  for (int i = threadIdx.x; i < width; i += 32) {
    const float value = x[row * width + i];
    count += 1;
    const float delta = value - mean;
    mean += delta / count;
    m2 += delta * (value - mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other_mean = __shfl_xor_sync(0xffffffffu, mean, offset), other_m2 = __shfl_xor_sync(0xffffffffu, m2, offset),
                other_count = __shfl_xor_sync(0xffffffffu, count, offset);
    const float all = count + other_count, delta = other_mean - mean;
    mean = (mean * count + other_mean * other_count) / all;
    m2 += other_m2 + delta * delta * count * other_count / all;
    count = all;
  }
  const float scale = rsqrtf(m2 / width + 1e-5f);
  for (int i = threadIdx.x; i < width; i += 32) {
    const float z = (x[row * width + i] - mean) * scale * gain[i] + shift[i];
    y[row * width + i] = 0.5f * z * (1 + erff(z * 0.70710678f));
  }
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  norm_gelu<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(out[0]));
  return status_of_launch();
}
