// graph "golden"
// input %x : f32[8,8,32,32]
// parameter %conv_weight : f32[40,8,3,3]
// parameter %conv_bias : f32[40]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[8,40,32,32]
// %y = relu(%conv) : f32[8,40,32,32]
// output %y
// end

#include "stitch/kernels/conv_implicit.h"

// y (8, 40, 32, 32) = x (8, 8, 32, 32) * conv_weight (40, 8, 3, 3), padding 1x1, then bias, relu
// An implicit GEMM on fp16 tensor cores, in pairs of fp16; kernels/conv_implicit.h has it.
struct GoldenImage : stitch::FlatConvolution {
  using In = float;
  using Weight = float;
  using Out = float;
  static constexpr int samples = 8, channels = 8, filters = 40, chunk = 1;
  static constexpr int tile_z = 1, tile_y = 8, tile_x = 32;
  static constexpr int size_in_y = 32, size_out_y = 32, result_y = 32;
  static constexpr int kernel_y = 3, stride_y = 1, padding_y = 1, dilation_y = 1;
  static constexpr int phases_y = 1, before_y = 0, weights_y = 3;
  static constexpr int size_in_x = 32, size_out_x = 32, result_x = 32;
  static constexpr int kernel_x = 3, stride_x = 1, padding_x = 1, dilation_x = 1;
  static constexpr int phases_x = 1, before_x = 0, weights_x = 3;
  static constexpr int pool_y = 1, pool_x = 1;
  static constexpr bool pool_max = false;
  static constexpr int64_t x_stride_sample = 8192, x_stride_channel = 1024, x_offset = 0;
  static constexpr int64_t x_stride_y = 32, x_stride_x = 1;
  static constexpr int64_t out_stride_sample = 40960, out_stride_channel = 1024, out_offset = 0;
  static constexpr int64_t out_stride_y = 32, out_stride_x = 1;
  static constexpr int64_t weight_stride_filter = 72, weight_stride_channel = 9, weight_offset = 0;
  static constexpr int64_t weight_stride_y = 3, weight_stride_x = 1;
  static constexpr bool transposed = false, packs_out = false, scatters = false;
  __device__ static int64_t scattered(int64_t at) { return at; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (40)
  __device__ float operator()(float value, int, int channel, int) const {
    value += conv_bias[channel];
    return stitch::relu(value);
  }
};

StitchStatus pack_golden(const float* conv_weight,  // (40, 8, 3, 3)
                         __half* packed,            // (7680): octets of channels, as steps take them
                         cudaStream_t stream) {
  return stitch::pack_implicit<GoldenImage, true>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(
    const float* x,                     // (8, 8, 32, 32)
    const float* conv_bias,             // (40)
    const __half* golden_weight_steps,  // (7680): octets of channels, as steps take them
    float* y,                           // (8, 40, 32, 32)
    cudaStream_t stream) {
  return stitch::enqueue_conv_implicit<true>(
      "golden", GoldenImage{}, x, golden_weight_steps, y, GoldenEpilogue{conv_bias}, stream);
}
