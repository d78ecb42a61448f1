// graph "golden"
// input %x : f32[32,72,1,1]
// parameter %conv_weight : f32[20,72,1,1]
// parameter %conv_bias : f32[20]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[32,20,1,1]
// %y = hardswish(%conv) : f32[32,20,1,1]
// output %y
// end

#include "stitch/kernels/conv_pointwise_nhwc.h"

// y (32, 20, 1, 1) = x (32, 72, 1, 1) * conv_weight (20, 72, 1, 1), then bias, hardswish
// A product of all pixels in TF32; kernels/conv_pointwise_nhwc.h has the kernel.
struct GoldenRows {
  using Index = int;
  static constexpr int64_t pixels = 32, plane = 1;  // of all samples, and of one
  static constexpr int channels = 72, filters = 20;
  static constexpr int pixel_tiles = 1, filter_tiles = 1, depth_warps = 4, multiprocessors = 132;
  static constexpr bool x_nchw = false, out_nchw = false, raw_weights = false;
};

struct GoldenEpilogue {
  const float* conv_bias;  // (20)
  __device__ float operator()(float value, int, int channel, int) const {
    value += conv_bias[channel];
    return stitch::hardswish(value);
  }
};

StitchStatus pack_golden(const float* conv_weight,  // (20, 72, 1, 1)
                         float* packed,             // (1920): operands as lanes take them
                         cudaStream_t stream) {
  return stitch::pack_nhwc<GoldenRows, float, false>(conv_weight, packed, stream);
}

StitchStatus enqueue_golden(const float* x,                     // (32, 72, 1, 1)
                            const float* conv_bias,             // (20)
                            const float* golden_weight_packed,  // (1920): operands as lanes take them
                            float* y,                           // (32, 20, 1, 1)
                            cudaStream_t stream) {
  return stitch::enqueue_pointwise_nhwc<float, false>(
      "golden", GoldenRows{}, x, golden_weight_packed, y, GoldenEpilogue{conv_bias}, stream);
}
