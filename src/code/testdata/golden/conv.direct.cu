// graph "golden"
// input %x : f32[64,1,32,32]
// parameter %conv_weight : f32[6,1,5,5]
// parameter %conv_bias : f32[6]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[64,6,28,28]
// %y = relu(%conv) : f32[64,6,28,28]
// output %y
// end

#include "stitch/kernels/conv_direct.h"

// y (64, 6, 28, 28) = x (64, 1, 32, 32) * conv_weight (6, 1, 5, 5), then bias, relu
// Directly, on the CUDA cores; kernels/conv_direct.h has the kernel.
struct GoldenLayer {  // y (64, 6, 28, 28) = x (64, 1, 32, 32) * conv_weight (6, 1, 5, 5)
  using In = float;
  using Weight = float;
  using Out = float;
  using Index = int;
  static constexpr int channels = 1, filters = 6;
  static constexpr int batch = 64, height = 32, width = 32, out_height = 28, out_width = 28;
  static constexpr int kernel_y = 5, kernel_x = 5, stride_y = 1, stride_x = 1;
  static constexpr int pad_y = 0, pad_x = 0, dilation_y = 1, dilation_x = 1;
  static constexpr int images = 1, tile_height = 28, tile_width = 28;  // of a block
  static constexpr int pixels = 4;  // of a thread
  static constexpr int out_pack = 1;
  __device__ static Index x(Index n, Index, Index y, Index x) { return n * 1024 + x + y * 32; }
  __device__ static Index out(Index n, Index c, Index y, Index x) { return c * 784 + n * 4704 + x + y * 28; }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (6)
  __device__ float operator()(float value, int, int channel, int) const {
    value += conv_bias[channel];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,            // (64, 1, 32, 32)
                            const float* conv_weight,  // (6, 1, 5, 5)
                            const float* conv_bias,    // (6)
                            float* y,                  // (64, 6, 28, 28)
                            cudaStream_t stream) {
  return stitch::enqueue_conv_direct(
      "golden", GoldenLayer{}, x, conv_weight, y, GoldenEpilogue{conv_bias}, stream);
}
