// graph "golden"
// input %x : f32[4,32,16,16]
// parameter %conv_weight : f32[32,1,3,3]
// parameter %conv_bias : f32[32]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[1,1] dilation=[1,1] groups=32 : f32[4,32,16,16]
// %y = relu(%conv) : f32[4,32,16,16]
// output %y
// end

#include "stitch/kernels/conv_depthwise.h"

// y (4, 32, 16, 16) = x (4, 32, 16, 16) * conv_weight (32, 1, 3, 3), padding 1x1, 32 groups, then bias, relu
// Every channel by itself on the CUDA cores, tiles of planes in shared memory.
// y (4, 32, 16, 16) = x (4, 32, 16, 16) * conv_weight (32, 1, 3, 3), padding 1x1, 32 groups
struct GoldenLayer {
  using In = float;
  using Weight = float;
  using Out = float;
  using Index = int;
  static constexpr int channels_out = 32, multiplier = 1;
  static constexpr int batch = 4, height = 16, width = 16, out_height = 16, out_width = 16;
  static constexpr int kernel_y = 3, kernel_x = 3, stride_y = 1, stride_x = 1;
  static constexpr int pad_y = 1, pad_x = 1, dilation_y = 1, dilation_x = 1;
  static constexpr int usual_batch = 4, usual_height = 16, usual_width = 16;
  static constexpr int threads_x = 16, threads_y = 4, each = 4, along = 1, planes = 4;
  static constexpr bool out_last = false, rows_first = false;
  __device__ static Index x(Index n, Index c, Index y, Index x) { return c * 256 + n * 8192 + x + y * 16; }
  __device__ static Index out(Index n, Index c, Index y, Index x) { return c * 256 + n * 8192 + x + y * 16; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (32)
  __device__ float operator()(float value, int, int channel, int) const {
    value += conv_bias[channel];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,            // (4, 32, 16, 16)
                            const float* conv_bias,    // (32)
                            const float* conv_weight,  // (32, 1, 3, 3)
                            float* y,                  // (4, 32, 16, 16)
                            cudaStream_t stream) {
  return stitch::enqueue_depthwise_planes(
      "golden", GoldenLayer{}, x, conv_weight, y, GoldenEpilogue{conv_bias}, stream);
}
