// conv.as_pytorch: a convolution or transposed convolution of FP32 images by the cuDNN engine that PyTorch
// uses (runtime/cudnn_as_pytorch.h), so that both round alike, and a pass for the epilogue. TF32 or FP32,
// like PyTorch. Chosen if results must match PyTorch's (--compat kernelbench), except for depthwise ones,
// which PyTorch computes by its own FP32 kernels.
#include "code/products/convolution/conv_cudnn.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

Result<void> accepts_conv_as_pytorch(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_conv_cudnn(context, region));
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  if (graph.type(node.results[0]).dtype != DType::f32 || context.numerics == Numerics::half)
    return not_for(region, "takes FP32 images");
  const Convolution c = geometry_of(graph, node);
  if (c.depthwise() && !c.transposed) return not_for(region, "has no depthwise convolutions");
  // Engines are built together, after what is computed once at create.
  if (plan::is_constant(graph, node.operands[0]))
    return not_for(region, "takes no images made of weights alone");
  return {};
}

std::vector<plan::Offer> offers_conv_as_pytorch(const plan::Context& context, const plan::Region& region) {
  using plan::Arithmetic, plan::Order;
  const Node& node = *plan::convolution_in(context.graph, region);
  const bool tf32 = context.rounding.is_tf32_in_pytorch(context.graph.number_of(node));
  return {{tf32 ? Arithmetic::by_class : Arithmetic::exact, Order::row_major}};
}

}  // namespace

constinit const ProductTechnique conv_as_pytorch{[] {
  ProductRow row = cudnn_row<CudnnForm::as_pytorch>(
      "conv.as_pytorch",
      "a convolution with the cuDNN engine that PyTorch uses: it rounds where PyTorch does");
  row.accepts = accepts_conv_as_pytorch;
  row.offers = offers_conv_as_pytorch;
  row.suits = [](const plan::Context& context, const plan::Region&, const plan::Offer&) {
    return context.torch.as_pytorch;
  };
  return row;
}()};

}  // namespace stitch::code
