// graph "golden"
// input %x : f32[1,3,8,8]
// parameter %conv_weight : f32[4,3,3,3]
// parameter %conv_bias : f32[4]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[1,4,6,6]
// %y = relu(%conv) : f32[1,4,6,6]
// output %y
// end

#include "stitch/kernels/matmul.h"

// y (1, 4, 6, 6) = x (1, 3, 8, 8) * conv_weight (4, 3, 3, 3), then bias, relu
// A product that gathers x, on the CUDA cores, exact; kernels/matmul.h has the kernel.
struct GoldenProduct {  // y (1, 4, 6, 6) = x (1, 3, 8, 8) * conv_weight (4, 3, 3, 3)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 4, depth = 27;
  static constexpr Index columns = 36;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 27; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index out_x = column % 6, out_y = column / 6 % 6;
    const Index y = out_y + tap_y;
    const Index x = out_x + tap_x;
    return y * 8 + x + k / 9 * 64;
  }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 36; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 36; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (4)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[position / 36];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,            // (1, 3, 8, 8)
                            const float* conv_weight,  // (4, 3, 3, 3)
                            const float* conv_bias,    // (4)
                            float* y,                  // (1, 4, 6, 6)
                            cudaStream_t stream) {
  return stitch::enqueue_product<1>(
      "golden", GoldenProduct{}, conv_weight, x, y, GoldenEpilogue{conv_bias}, stream);
}
