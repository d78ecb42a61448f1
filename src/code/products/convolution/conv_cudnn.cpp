// conv.cudnn: a convolution or transposed convolution by cuDNN, with bias and ReLU fused if it supports them.
// Exact FP32 in class strict; TF32 if the class allows it. Offers: half multiplies in fp16, NHWC, with FP32
// sums (TF32's mantissa, 1.8x as fast as TF32 in NHWC on an H200); by_class in NHWC multiplies in TF32,
// transposed ones by phases if that is faster; half_exact_bias adds a bias in FP32, in a pass after fp16.
// Knobs: search, and which proposal is used. Tensors in other layouts are copied (kernels/conv_arrange.h);
// filters are packed once. Strides over few channels are folded into channels (conv_folded.h). Chosen for
// every convolution with more than a few channels.
#include "code/products/convolution/conv_cudnn.h"

#include "code/products/convolution/conv_cudnn_region.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

Result<void> ConvCudnn::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  DType dtype = graph.type(node.results[0]).dtype;
  if (dtype == DType::f64) return not_for(region, "has no convolutions of f64");
  if (!plan::is_constant(graph, node.operands[1]) &&
      (dtype != DType::f32 || context.numerics == Numerics::half))
    return not_for(region, "packs its weight once");
  Convolution c = geometry_of(graph, node);
  if (graph.type(node.results[0]).elements() == 0 || graph.type(node.operands[0]).elements() == 0 ||
      c.taps() == 0)
    return not_for(region, "has no convolutions of nothing");
  for (size_t d = 0; d < 3; ++d) {
    // cuDNN checks a transposed convolution by the forward one.
    int64_t back =
        (c.size_out[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1;
    if (c.transposed && back != c.size_in[d])
      return not_for(region, "has no transposed convolution with an output padding of a whole stride");
  }
  constexpr int64_t most = int64_t{1} << 31;
  if (graph.type(node.results[0]).elements() >= most || graph.type(node.operands[0]).elements() >= most)
    return not_for(region, "has no tensors of 2^31 elements");
  return {};
}

std::vector<plan::Offer> ConvCudnn::offers(const plan::Context& context, const plan::Region& region) const {
  using plan::Arithmetic, plan::Order;
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const bool exact = context.rounding.must_be_exact(graph.number_of(node));
  std::vector<plan::Offer> out = {{exact ? Arithmetic::exact : Arithmetic::by_class, Order::row_major},
                                  {exact ? Arithmetic::by_class : Arithmetic::exact, Order::row_major}};
  const Convolution c = geometry_of(graph, node);
  // In NHWC it is up to five times slower than FP32 there (H200, 3 channels to 16).
  const bool slow = c.transposed && c.dims == 3 && c.channels_in < 16;
  if (c.depthwise() || slow || !plan::is_constant(graph, node.operands[1])) return out;
  if (graph.type(node.results[0]).dtype != DType::f32) {
    out.push_back({Arithmetic::by_class, Order::channels_last});
    return out;
  }
  for (Arithmetic arithmetic :
       {Arithmetic::by_class, Arithmetic::exact, Arithmetic::half, Arithmetic::half_exact_bias})
    out.push_back({arithmetic, Order::channels_last});
  return out;
}

Result<RegionCode> ConvCudnn::write_region(const RegionRequest& request) const {
  return write_cudnn_convolution(request, CudnnForm::library);
}

const Technique& conv_cudnn() {
  static const ConvCudnn technique;
  return technique;
}

}  // namespace stitch::code
