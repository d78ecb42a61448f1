// graph "golden"
// input %x : f32[2,16,9,7]
// parameter %conv_weight : f32[24,16,3,3]
// parameter %conv_bias : f32[24]
// %conv = conv(%x, %conv_weight, %conv_bias) stride=[2,1] padding=[1,1] dilation=[1,1] : f32[2,24,5,7]
// %y = relu(%conv) : f32[2,24,5,7]
// output %y
// end

#include "stitch/kernels/conv_arrange.h"
#include "stitch/runtime/cudnn_as_pytorch.h"
#include "stitch/runtime/tensors.h"

// y (2, 24, 5, 7) = x (2, 16, 9, 7) * conv_weight (24, 16, 3, 3), stride 2x1, padding 1x1, then bias, relu
// By cuDNN in f32, channels first, by the engine that PyTorch takes; golden_convolution holds the algorithm.
// y (2, 24, 5, 7) = x (2, 16, 9, 7) * conv_weight (24, 16, 3, 3), stride 2x1, padding 1x1
struct GoldenProduct {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 24, depth = 144;
  static constexpr Index columns = 70;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 144; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index out_x = column % 7, out_y = column / 7 % 5;
    const Index y = out_y * 2 + tap_y - 1;
    if (y < 0 || y >= 9) return -1;
    const Index x = out_x + tap_x - 1;
    if (x < 0 || x >= 7) return -1;
    return y * 7 + x + column / 35 * 1008 + k / 9 * 63;
  }
  __device__ static Index out(Index, Index row, Index column) {
    return column % 35 + (column / 35) * 840 + row * 35;
  }
  __device__ static Index position(Index, Index row, Index column) {
    return column % 35 + (column / 35) * 840 + row * 35;
  }
};

struct GoldenEpilogue {
  const float* conv_bias;  // (24)
  __device__ float operator()(float value, int position) const {
    value += conv_bias[(position / 35) % 24];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,            // (2, 16, 9, 7)
                            const float* conv_weight,  // (24, 16, 3, 3)
                            const float* conv_bias,    // (24)
                            const stitch::ConvolutionAsPyTorch& golden_convolution,
                            float* y,                  // (2, 24, 5, 7)
                            cudaStream_t stream) {
  if (!stitch::is_aligned(y, 32) || !stitch::is_aligned(x, 32))  // cuDNN can't: the plain kernel then
    return stitch::enqueue_product<0>(
        "golden", GoldenProduct{}, conv_weight, x, y, GoldenEpilogue{conv_bias}, stream);
  STITCH_OK_OR_RETURN(golden_convolution.enqueue(x, conv_weight, y, stream));
  return stitch::finish_image<false, 1>(
      "golden", GoldenProduct{}, y, y, GoldenEpilogue{conv_bias}, 35, stream);
}

// When the program is created:
stitch::ConvolutionAsPyTorch golden_convolution;
{
  // dimensions, batch, channels in and out, groups; sizes in and out, kernel, stride, padding, dilation
  stitch::ConvolutionSpec spec{2, 2, 16, 24, 1,
                               {9, 7}, {5, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}};
  spec.math = CUDNN_DEFAULT_MATH;
  STITCH_OK_OR_RETURN(golden_convolution.create(cudnn, spec));
}
