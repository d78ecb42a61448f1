// graph "golden"
// input %x : f32[8,3,32,32]
// parameter %conv_weight : f32[16,3,3,3]
// parameter %conv_bias : f32[16]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[8,16,32,32]
// %y = relu(%conv) : f32[8,16,32,32]
// output %y
// end

#include "stitch/kernels/conv_split_halo.h"

// y (8, 16, 32, 32) = x (8, 3, 32, 32) * conv_weight (16, 3, 3, 3), padding 1x1, then bias, relu
// x is read once into shared memory, on fp16 tensor cores in pairs of fp16; kernels/conv_split_halo.h has the
// kernel.
struct GoldenProduct {  // y (8, 16, 32, 32) = x (8, 3, 32, 32) * conv_weight (16, 3, 3, 3), padding 1x1
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 16, depth = 27;
  static constexpr Index columns = 8192;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 27; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index out_x = column % 32, out_y = column / 32 % 32;
    const Index y = out_y + tap_y - 1;
    if (y < 0 || y >= 32) return -1;
    const Index x = out_x + tap_x - 1;
    if (x < 0 || x >= 32) return -1;
    return y * 32 + x + column / 1024 * 3072 + k / 9 * 1024;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 16384 + row * 1024;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 1024 + (column / 1024) * 16384 + row * 1024;
  }
};

struct GoldenHalo : stitch::FlatConvolution {
  static constexpr int samples = 8, channels = 3, filters = 16;
  static constexpr int size_in_y = 32, size_out_y = 32, kernel_y = 3;
  static constexpr int stride_y = 1, padding_y = 1, dilation_y = 1;
  static constexpr int size_in_x = 32, size_out_x = 32, kernel_x = 3;
  static constexpr int stride_x = 1, padding_x = 1, dilation_x = 1;
  static constexpr bool out_last = false;
  static constexpr int64_t x_stride_sample = 3072, x_stride_channel = 1024, x_offset = 0;
  static constexpr int64_t x_stride_y = 32, x_stride_x = 1;
  static constexpr int64_t out_stride_sample = 16384, out_stride_channel = 1024, out_offset = 0;
  static constexpr int64_t out_stride_y = 32, out_stride_x = 1;
};

struct GoldenEpilogue {
  const float* conv_bias;  // (16)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[(position / 1024) % 16];
    return stitch::relu(value);
  }
};

StitchStatus pack_golden(const float* conv_weight,  // (16, 3, 3, 3)
                         __half* packed,            // (1536): high and low parts
                         cudaStream_t stream) {
  return stitch::pack_split_halo<GoldenProduct, GoldenHalo>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(const float* x,                     // (8, 3, 32, 32)
                            const float* conv_bias,             // (16)
                            const __half* golden_weight_split,  // (1536): high and low parts
                            float* y,                           // (8, 16, 32, 32)
                            cudaStream_t stream) {
  return stitch::enqueue_conv_split_halo<GoldenProduct, true>(
      "golden", GoldenHalo{}, x, golden_weight_split, y, GoldenEpilogue{conv_bias}, stream);
}
