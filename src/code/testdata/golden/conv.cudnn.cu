// graph "golden"
// input %x : f32[4,32,16,16]
// parameter %conv_weight : f32[64,32,3,3]
// parameter %conv_bias : f32[64]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[4,64,16,16]
// %y = relu(%conv) : f32[4,64,16,16]
// output %y
// end

#include "stitch/kernels/conv_arrange.h"
#include "stitch/runtime/cudnn.h"
#include "stitch/runtime/tensors.h"

// y (4, 64, 16, 16) = x (4, 32, 16, 16) * conv_weight (64, 32, 3, 3), padding 1x1, then bias, relu
// By cuDNN in f32, channels first; golden_convolution holds the algorithm.
struct GoldenProduct {  // y (4, 64, 16, 16) = x (4, 32, 16, 16) * conv_weight (64, 32, 3, 3), padding 1x1
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 64, depth = 288;
  static constexpr Index columns = 1024;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 288; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index out_x = column % 16, out_y = column / 16 % 16;
    const Index y = out_y + tap_y - 1;
    if (y < 0 || y >= 16) return -1;
    const Index x = out_x + tap_x - 1;
    if (x < 0 || x >= 16) return -1;
    return y * 16 + x + column / 256 * 8192 + k / 9 * 256;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 256 + (column / 256) * 16384 + row * 256;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 256 + (column / 256) * 16384 + row * 256;
  }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (64)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[(position / 256) % 64];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,            // (4, 32, 16, 16)
                            const float* conv_weight,  // (64, 32, 3, 3)
                            const float* conv_bias,    // (64)
                            const stitch::Convolution& golden_convolution,
                            float* y,                  // (4, 64, 16, 16)
                            cudaStream_t stream) {
  if (!stitch::is_aligned(y, 16) || !stitch::is_aligned(x, 16))  // cuDNN can't: the plain kernel then
    return stitch::enqueue_product<0>(
        "golden", GoldenProduct{}, conv_weight, x, y, GoldenEpilogue{conv_bias}, stream);
  STITCH_OK_OR_RETURN(golden_convolution.enqueue(x, conv_weight, y, stream));
  return STITCH_OK;
}

// When the program is created:
stitch::Convolution golden_convolution;
{
  // dimensions, batch, channels in and out, groups; sizes in and out, kernel, stride, padding, dilation
  stitch::ConvolutionSpec spec{2, 4, 32, 64, 1,
                               {16, 16}, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  spec.math = CUDNN_DEFAULT_MATH;
  spec.bias = conv_bias;
  spec.relu = true;
  spec.algorithm = golden_convolution_algorithm;
  STITCH_OK_OR_RETURN(golden_convolution.create(cudnn, spec));
}
