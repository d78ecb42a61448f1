// graph "golden"
// input %x : f32[3,4]
// parameter %fc_weight : f32[5,4]
// parameter %fc_bias : f32[5]
// %fc = linear(%x, %fc_weight, %fc_bias) : f32[3,5]
// %y = relu(%fc) : f32[3,5]
// output %y
// end

#include "stitch/kernels/matmul.h"

// y (3, 5) = x (3, 4) · fc_weight (5, 4), then bias, relu
// On the CUDA cores, exact; kernels/matmul.h has the kernel.
struct GoldenProduct {  // y (3, 5) = x (3, 4) · fc_weight (5, 4)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 3, columns = 5, depth = 4;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 4; }
  __device__ static Index right(Index, Index k, Index column) { return column * 4 + k; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 5; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 5; }
};

struct GoldenEpilogue {
  const float* fc_bias;  // (5)
  __device__ float operator()(float value, int position) const {
    value += fc_bias[position % 5];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,          // (3, 4)
                            const float* fc_weight,  // (5, 4)
                            const float* fc_bias,    // (5)
                            float* y,                // (3, 5)
                            cudaStream_t stream) {
  return stitch::enqueue_product<1>(
      "golden", GoldenProduct{}, x, fc_weight, y, GoldenEpilogue{fc_bias}, stream);
}
