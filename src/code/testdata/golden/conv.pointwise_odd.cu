// graph "golden"
// input %x : f16[32,74,1,1]
// parameter %conv_weight : f16[20,74,1,1]
// parameter %conv_bias : f16[20]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f16[32,20,1,1]
// %y = hardswish(%conv) : f16[32,20,1,1]
// output %y
// end

#include "stitch/kernels/conv_pointwise_odd.h"

// y (32, 20, 1, 1) = x (32, 74, 1, 1) * conv_weight (20, 74, 1, 1), then bias, hardswish
// A product of all pixels in f16; kernels/conv_pointwise_odd.h has the kernel.
struct GoldenProduct {  // y (32, 20, 1, 1) = x (32, 74, 1, 1) * conv_weight (20, 74, 1, 1)
  using Left = __half;
  using Right = __half;
  using Out = __half;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 20, depth = 74;
  static constexpr Index columns = 32;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 74; }
  __device__ static Index right(Index, Index k, Index column) {
    return column / 1 * 74 + k % 74;
  }
  __device__ static Index out(Index, Index row, Index column) { return column * 20 + row; }
  __device__ static Index position(Index, Index row, Index column) { return column * 20 + row; }
};

struct GoldenRows {
  static constexpr int64_t pixels = 32, plane = 1;  // of all samples, and of one
  static constexpr int channels = 74, filters = 20;
};

struct GoldenEpilogue {
  const __half* conv_bias;  // (20)
  __device__ float operator()(float value, int position) const {
    value += static_cast<float>(conv_bias[position % 20]);
    return stitch::hardswish(value);
  }
};

StitchStatus pack_golden(const __half* conv_weight,  // (20, 74, 1, 1)
                         __half* packed,             // (1920): operands as lanes take them
                         cudaStream_t stream) {
  return stitch::pack_odd<GoldenProduct, GoldenRows>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(const __half* x,                     // (32, 74, 1, 1)
                            const __half* conv_bias,             // (20)
                            const __half* golden_weight_packed,  // (1920): operands as lanes take them
                            __half* y,                           // (32, 20, 1, 1)
                            cudaStream_t stream) {
  return stitch::enqueue_odd<GoldenProduct>(
      "golden", GoldenRows{}, x, golden_weight_packed, y, GoldenEpilogue{conv_bias}, stream);
}
