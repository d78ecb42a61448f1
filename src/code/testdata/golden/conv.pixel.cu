// graph "golden"
// input %x : f16[32,72,1,1]
// parameter %conv_weight : f16[24,72,1,1]
// parameter %conv_bias : f32[24]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f16[32,24,1,1]
// %y = hardsigmoid(%conv) : f16[32,24,1,1]
// output %y
// end

#include "stitch/kernels/conv_pixel.h"

// y (32, 24, 1, 1) = x (32, 72, 1, 1) * conv_weight (24, 72, 1, 1), then bias, hardsigmoid
// A few warps for four filters of four samples; kernels/conv_pixel.h has the kernel.
struct GoldenProduct {  // y (32, 24, 1, 1) = x (32, 72, 1, 1) * conv_weight (24, 72, 1, 1)
  using Left = __half;
  using Right = __half;
  using Out = __half;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 24, depth = 72;
  static constexpr Index columns = 32;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 72; }
  __device__ static Index right(Index, Index k, Index column) {
    return column / 1 * 72 + k % 72;
  }
  __device__ static Index out(Index, Index row, Index column) { return column * 24 + row; }
  __device__ static Index position(Index, Index row, Index column) { return column * 24 + row; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (24)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[position % 24];
    return stitch::hardsigmoid(value);
  }
};

StitchStatus enqueue_golden(const __half* conv_weight,  // (24, 72, 1, 1)
                            const __half* x,            // (32, 72, 1, 1)
                            const float* conv_bias,     // (24)
                            __half* y,                  // (32, 24, 1, 1)
                            cudaStream_t stream) {
  return stitch::enqueue_conv_pixel(
      "golden", GoldenProduct{}, conv_weight, x, y, GoldenEpilogue{conv_bias}, stream);
}
