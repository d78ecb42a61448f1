// graph "golden"
// input %x : f32[16,256]
// parameter %fc_weight : f32[96,256]
// parameter %fc_bias : f32[96]
// %fc = linear(%x, %fc_weight, %fc_bias) : f32[16,96]
// %y = hardswish(%fc) : f32[16,96]
// output %y
// end

#include "stitch/kernels/conv_pointwise_nhwc.h"

// y (16, 96) = x (16, 256) · fc_weight (96, 256), then bias, hardswish
// In pairs of TF32, the weight where it lies; kernels/conv_pointwise_nhwc.h has the kernel.
struct GoldenRows {
  using Index = int;
  static constexpr int64_t pixels = 16, plane = 1;  // rows
  static constexpr int channels = 256, filters = 96;  // depth, columns
  static constexpr int pixel_tiles = 1, filter_tiles = 1, depth_warps = 8, multiprocessors = 132;
  static constexpr bool x_nchw = false, out_nchw = false, raw_weights = true;
};

struct GoldenEpilogue {
  const float* fc_bias;  // (96)
  __device__ float operator()(float value, int position) const {
    value += fc_bias[position % 96];
    return stitch::hardswish(value);
  }
};

StitchStatus enqueue_golden(const float* x,          // (16, 256)
                            const float* fc_weight,  // (96, 256)
                            const float* fc_bias,    // (96)
                            float* y,                // (16, 96)
                            cudaStream_t stream) {
  return stitch::enqueue_thin_product(
      "golden", GoldenRows{}, x, fc_weight, y, GoldenEpilogue{fc_bias}, stream);
}
