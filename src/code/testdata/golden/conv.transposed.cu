// graph "golden"
// input %x : f32[4,8,16,16]
// parameter %conv_weight : f32[8,8,3,3]
// parameter %conv_bias : f32[8]
// %conv = conv_transpose(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] output_padding=[0,0] : f32[4,8,18,18]
// %y = relu(%conv) : f32[4,8,18,18]
// output %y
// end

#include "stitch/kernels/conv_transposed.h"

// y (4, 8, 18, 18) = x (4, 8, 16, 16) *ᵀ conv_weight (8, 8, 3, 3), bias, then relu
// Phase by phase in FP32: outputs that see the same taps; kernels/conv_transposed.h has the kernel.
// y (4, 8, 18, 18) = x (4, 8, 16, 16) *ᵀ conv_weight (8, 8, 3, 3)
struct GoldenLayer : stitch::FlatConvolution {
  using In = float;
  using Weight = float;
  using Out = float;
  using Index = int;
  static constexpr int samples = 4, groups = 1, channels = 8, filters = 8;
  static constexpr int size_in_y = 16, size_out_y = 18, kernel_y = 3;
  static constexpr int stride_y = 1, padding_y = 0, dilation_y = 1;
  static constexpr int size_in_x = 16, size_out_x = 18, kernel_x = 3;
  static constexpr int stride_x = 1, padding_x = 0, dilation_x = 1;
  static constexpr int cells_z = 1, cells_y = 18, cells_x = 20, chunk = 8;
  static constexpr int each = 2, own = 8, cell_warps = 4, filter_warps = 1;
  static constexpr Index x_apart = 256;
  __device__ static Index x(Index n, Index channel, Index, Index y, Index x) {
    return channel * 256 + n * 2048 + x + y * 16;
  }
  __device__ static Index weight(Index channel, Index filter, Index, Index y, Index x) {
    return channel * 72 + filter * 9 + x + y * 3;
  }
  __device__ static Index out(Index n, Index filter, Index, Index y, Index x) {
    return filter * 324 + n * 2592 + x + y * 18;
  }
  __device__ static Index position(Index n, Index filter, Index, Index y, Index x) {
    return filter * 324 + n * 2592 + x + y * 18;
  }
};

struct GoldenEpilogue {
  __device__ float operator()(float value, int) const {
    return stitch::relu(value);
  }
};

StitchStatus pack_golden(const float* conv_weight,  // (8, 8, 3, 3)
                         float* packed,             // (576): taps, channels, filters
                         cudaStream_t stream) {
  return stitch::pack_transposed<GoldenLayer>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(const float* x,                     // (4, 8, 16, 16)
                            const float* conv_bias,             // (8)
                            const float* golden_weight_by_tap,  // (576): taps, channels, filters
                            float* y,                           // (4, 8, 18, 18)
                            cudaStream_t stream) {
  return stitch::enqueue_conv_transposed(
      "golden", GoldenLayer{}, x, golden_weight_by_tap, conv_bias, y, GoldenEpilogue{}, stream);
}
