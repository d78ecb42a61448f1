// graph "golden"
// input %x : f32[1,512]
// parameter %fc_weight : f32[256,512]
// parameter %fc_bias : f32[256]
// %fc = linear(%x, %fc_weight, %fc_bias) : f32[1,256]
// %y = relu(%fc) : f32[1,256]
// output %y
// end

#include "stitch/kernels/matmul_vector.h"

// y (1, 256) = x (1, 512) · fc_weight (256, 512), then bias, relu
// The wide matrix is read once; kernels/matmul_vector.h has the kernel.
struct GoldenProduct {  // y (1, 256) = x (1, 512) · fc_weight (256, 512)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 1, columns = 256, depth = 512;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index, Index k) { return k; }
  __device__ static Index right(Index, Index k, Index column) { return column * 512 + k; }
  __device__ static Index out(Index, Index, Index column) { return column; }
  __device__ static Index position(Index, Index, Index column) { return column; }
};

struct GoldenEpilogue {
  const float* fc_bias;  // (256)
  __device__ float operator()(float value, int position) const {
    value += fc_bias[position];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,          // (1, 512)
                            const float* fc_weight,  // (256, 512)
                            const float* fc_bias,    // (256)
                            float* y,                // (1, 256)
                            cudaStream_t stream) {
  return stitch::enqueue_vector_product<true, 1, true, 2048, 1, 1, true>(
      "golden", GoldenProduct{}, x, fc_weight, nullptr, y, GoldenEpilogue{fc_bias}, stream);
}
