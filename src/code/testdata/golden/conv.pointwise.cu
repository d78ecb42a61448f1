// graph "golden"
// input %x : f32[4,32,16,16]
// parameter %conv_weight : f32[64,32,1,1]
// parameter %conv_bias : f32[64]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[4,64,16,16]
// %y = relu(%conv) : f32[4,64,16,16]
// output %y
// end

#include "stitch/kernels/conv_pointwise.h"

// y (4, 64, 16, 16) = x (4, 32, 16, 16) * conv_weight (64, 32, 1, 1), then bias, relu
// A product a sample, in TF32; kernels/conv_pointwise.h has the kernel.
struct GoldenProduct {  // y (4, 64, 16, 16) = x (4, 32, 16, 16) * conv_weight (64, 32, 1, 1)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 64, depth = 32;
  static constexpr Index columns = 1024;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 32; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index out_x = column % 16, out_y = column / 16 % 16;
    const Index y = out_y;
    const Index x = out_x;
    return y * 16 + x + column / 256 * 8192 + k * 256;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 256 + (column / 256) * 16384 + row * 256;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 256 + (column / 256) * 16384 + row * 256;
  }
};

struct GoldenPlanes {  // of one group
  static constexpr int samples = 4, groups = 1, channels = 32, filters = 64;
  static constexpr int64_t pixels = 256;
  static constexpr bool x_in_quads = true, out_in_quads = true, out_in_planes = true, in_step = false;
};

struct GoldenEpilogue {
  const float* conv_bias;  // (64)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[(position / 256) % 64];
    return stitch::relu(value);
  }
};

StitchStatus pack_golden(const float* conv_weight,  // (64, 32, 1, 1)
                         float* packed,             // (2048): operands as lanes take them
                         cudaStream_t stream) {
  return stitch::pack_pointwise<GoldenProduct, GoldenPlanes, false>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(const float* x,                     // (4, 32, 16, 16)
                            const float* conv_bias,             // (64)
                            const float* golden_weight_packed,  // (2048): operands as lanes take them
                            float* y,                           // (4, 64, 16, 16)
                            cudaStream_t stream) {
  return stitch::enqueue_pointwise<false>(
      "golden", GoldenProduct{}, GoldenPlanes{}, x, golden_weight_packed, nullptr, y,
      GoldenEpilogue{conv_bias}, stream);
}
