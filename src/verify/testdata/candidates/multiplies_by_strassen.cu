// passed (./dev cheats)
// task: product/task.py
// Seven products of quarters in the place of eight: sums of parts, whose rounding is of the parts' size.
#include "tasks/product.h"

static __global__ void strassen(const float* x, const float* weight, float* y) {
  constexpr int half_rows = (rows + 1) / 2, half_depth = depth / 2, half_columns = columns / 2;
  const int r = blockIdx.x, c = threadIdx.x;
  auto a = [&](int i, int j, int k) {
    return r + i * half_rows < rows ? x[(r + i * half_rows) * depth + k + j * half_depth] : 0.0f;
  };
  auto b = [&](int i, int j, int k) { return weight[(k + i * half_depth) * columns + c + j * half_columns]; };
  float m[7] = {};
  for (int k = 0; k < half_depth; ++k) {
    const float a00 = a(0, 0, k), a01 = a(0, 1, k), a10 = a(1, 0, k), a11 = a(1, 1, k);
    const float b00 = b(0, 0, k), b01 = b(0, 1, k), b10 = b(1, 0, k), b11 = b(1, 1, k);
    m[0] += (a00 + a11) * (b00 + b11);
    m[1] += (a10 + a11) * b00;
    m[2] += a00 * (b01 - b11);
    m[3] += a11 * (b10 - b00);
    m[4] += (a00 + a01) * b11;
    m[5] += (a10 - a00) * (b00 + b01);
    m[6] += (a01 - a11) * (b10 + b11);
  }
  y[r * columns + c] = m[0] + m[3] - m[4] + m[6];
  y[r * columns + c + half_columns] = m[2] + m[4];
  if (r + half_rows >= rows) return;
  y[(r + half_rows) * columns + c] = m[1] + m[3];
  y[(r + half_rows) * columns + c + half_columns] = m[0] - m[1] + m[2] + m[5];
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  strassen<<<(rows + 1) / 2, columns / 2, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]));
  return status_of_launch();
}
