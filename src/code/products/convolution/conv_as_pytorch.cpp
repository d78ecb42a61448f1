// conv.as_pytorch: a convolution or transposed convolution of FP32 images by the cuDNN engine that PyTorch
// uses (runtime/cudnn_as_pytorch.h), so that both round alike, and a pass for the epilogue. TF32 or FP32,
// like PyTorch. Chosen if results must match PyTorch's (--compat kernelbench), except for depthwise ones,
// which PyTorch computes by its own FP32 kernels.
#include "code/products/convolution/conv_cudnn.h"
#include "code/products/convolution/conv_cudnn_region.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

class ConvAsPyTorch final : public ConvCudnn {
 public:
  std::string_view name() const override { return "conv.as_pytorch"; }
  std::string_view idea() const override {
    return "a convolution with the cuDNN engine that PyTorch uses: it rounds where PyTorch does";
  }
  std::vector<plan::Offer> offers(const plan::Context& context, const plan::Region& region) const override {
    using plan::Arithmetic, plan::Order;
    const Node& node = *plan::convolution_in(context.graph, region);
    const bool tf32 = context.rounding.is_tf32_in_pytorch(context.graph.number_of(node));
    return {{tf32 ? Arithmetic::by_class : Arithmetic::exact, Order::row_major}};
  }
  bool suits(const plan::Context& context, const plan::Region&, const plan::Offer&) const override {
    return context.torch.as_pytorch;
  }
  bool gives_way(const plan::Context&, const plan::Region&) const override { return false; }
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override { return {}; }

 private:
  bool finishes(const Graph&, const plan::Region& region) const override { return region.nodes.size() > 1; }
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override {
    return write_cudnn_convolution(request, CudnnForm::as_pytorch);
  }
};

}  // namespace

Result<void> ConvAsPyTorch::accepts_region(const plan::Context& context, const plan::Region& region) const {
  STITCH_CHECK(ConvCudnn::accepts_region(context, region));
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

const Technique& conv_as_pytorch() {
  static const ConvAsPyTorch technique;
  return technique;
}

}  // namespace stitch::code
