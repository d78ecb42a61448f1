// graph "golden"
// parameter %w : f32[16,12,3,3]
// parameter %b : f32[16]
// input %x : f32[4,12,3,3]
// input %r : f32[4,16,1,1]
//
// %y = conv(%x, %w, %b) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[4,16,1,1]
// %h = hardswish(%y) : f32[4,16,1,1]
// %z = add(%h, %r) : f32[4,16,1,1]
//
// output %z
// end

#include "stitch/kernels/conv_arrange.h"
#include "stitch/runtime/cudnn_graph.h"
#include "stitch/runtime/tensors.h"

// z (4, 16, 1, 1) = x (4, 12, 3, 3) * w (16, 12, 3, 3), then bias, hardswish, add
// By cuDNN in f32, channels last, as one operation graph; golden_convolution holds the algorithm.
struct GoldenProduct {  // z (4, 16, 1, 1) = x (4, 12, 3, 3) * w (16, 12, 3, 3)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  // Filters, positions of all samples, channels and taps; a batch is a group.
  static constexpr Index batches = 1, rows = 16, depth = 108;
  static constexpr Index columns = 4;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = true;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 108; }
  __device__ static Index right(Index, Index k, Index column) {
    const Index tap_x = k % 3, tap_y = k / 3 % 3;
    const Index y = tap_y;
    const Index x = tap_x;
    return y * 3 + x + column / 1 * 108 + k / 9 * 9;
  }
  __device__ static Index out(Index, Index row, Index column) { return column * 16 + row; }
  __device__ static Index position(Index, Index row, Index column) { return column * 16 + row; }
};

struct GoldenEpilogue {
  const float* b;  // (16)
  const float* r;  // (4, 16, 1, 1)
  __device__ float operator()(float value, int position) const {
    value += b[position % 16];
    const float hardswish_value = stitch::hardswish(value);
    return hardswish_value + r[position];
  }
};

StitchStatus pack_golden_w(const float* w,  // (16, 12, 3, 3)
                           float* packed,   // (16, 9, 12): filters, taps, channels
                           cudaStream_t stream) {
  return stitch::pack_filter(w, reinterpret_cast<stitch::Tf32*>(packed), 16, 12, 12, 9, stream);
}

StitchStatus enqueue_golden(const float* x,                // (4, 12, 3, 3)
                            const float* w,                // (16, 12, 3, 3)
                            const float* b,                // (16)
                            const float* r,                // (4, 16, 1, 1)
                            const float* golden_w_packed,  // (16, 9, 12): filters, taps, channels
                            const stitch::FusedConvolution& golden_convolution,
                            float* z,                      // (4, 16, 1, 1)
                            void* workspace,
                            cudaStream_t stream) {
  if (!stitch::is_aligned(z, 16) || !stitch::is_aligned(r, 16))  // cuDNN can't: the plain kernel then
    return stitch::enqueue_product<1>(
        "golden", GoldenProduct{}, w, x, z, GoldenEpilogue{b, r}, stream);
  auto* x_arranged = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);  // (4, 3, 3, 12)
  STITCH_OK_OR_RETURN(stitch::to_channels_last<12>(
      x, reinterpret_cast<stitch::Tf32*>(x_arranged), stitch::ImageStrides{108, 9, 0, 3, 1, 3, 3}, 4, 12, 9,
      stream));
  STITCH_OK_OR_RETURN(
      golden_convolution.enqueue(x_arranged, golden_w_packed, z, {b, r}, stream));
  if (golden_convolution.fused()) return STITCH_OK;
  // cuDNN has no engine for all of it.
  return stitch::finish_image<true, 4>(
      "golden", GoldenProduct{}, z, z, GoldenEpilogue{b, r}, 1, stream);
}

// When the program is created:
stitch::FusedConvolution golden_convolution;
{
  // dimensions, batch, channels in and out, groups; sizes in and out, kernel, stride, padding, dilation
  stitch::ConvolutionSpec spec{2, 4, 12, 16, 1,
                               {3, 3}, {1, 1}, {3, 3}, {1, 1}, {0, 0}, {1, 1}};
  spec.layout = CUDNN_TENSOR_NHWC;
  spec.math = CUDNN_DEFAULT_MATH;
  spec.algorithm = golden_convolution_algorithm;
  STITCH_OK_OR_RETURN(golden_convolution.create(
      cudnn, spec,
      {{CUDNN_POINTWISE_ADD, -1, stitch::FusedStep::operand, 0},
       {CUDNN_POINTWISE_ADD, 0, stitch::FusedStep::constant, 0, 3.0f},
       {CUDNN_POINTWISE_RELU_FWD, 1, stitch::FusedStep::nothing, 0, 0.0f, 6.0},
       {CUDNN_POINTWISE_MUL, 2, stitch::FusedStep::step, 0},
       {CUDNN_POINTWISE_MUL, 3, stitch::FusedStep::constant, 0, 0.16666666666666666f},
       {CUDNN_POINTWISE_ADD, 4, stitch::FusedStep::operand, 1}},
      {{CUDNN_DATA_FLOAT, false, false}, {CUDNN_DATA_FLOAT, true, false}}));
}
