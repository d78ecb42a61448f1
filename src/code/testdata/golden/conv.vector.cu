// graph "golden"
// input %x : f32[1,64,1,1]
// parameter %conv_weight : f32[32,64,1,1]
// parameter %conv_bias : f32[32]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,32,1,1]
// %y = relu(%conv) : f32[1,32,1,1]
// output %y
// end

#include "stitch/kernels/matmul_vector.h"

// y (1, 32, 1, 1) = x (1, 64, 1, 1) * conv_weight (32, 64, 1, 1), then bias, relu
// Filters times 1 vectors: filters are read once; kernels/matmul_vector.h has the kernel.
struct GoldenProduct {  // y (1, 32, 1, 1) = x (1, 64, 1, 1) * conv_weight (32, 64, 1, 1)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 32, depth = 64;
  static constexpr Index columns = 1;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 64; }
  __device__ static Index right(Index, Index k, Index) {
    return k % 64;
  }
  __device__ static Index out(Index, Index row, Index) { return row; }
  __device__ static Index position(Index, Index row, Index) { return row; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (32)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[position];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* conv_weight,  // (32, 64, 1, 1)
                            const float* x,            // (1, 64, 1, 1)
                            const float* conv_bias,    // (32)
                            float* y,                  // (1, 32, 1, 1)
                            cudaStream_t stream) {
  return stitch::enqueue_vector_product<false, 1, true, 8192, 1, 1, true>(
      "golden", GoldenProduct{}, conv_weight, x, nullptr, y, GoldenEpilogue{conv_bias}, stream);
}
