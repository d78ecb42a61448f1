// conv.cudnn_graph: conv.cudnn with the whole epilogue in the kernel, as a cuDNN operation graph in NHWC
// (runtime/cudnn_graph.h): biases and residuals are added in FP32 before rounding. Without an engine for the
// graph at create, it is conv.cudnn.
#include <algorithm>

#include "code/products/convolution/conv_cudnn.h"
#include "code/products/convolution/conv_cudnn_region.h"
#include "code/products/graph_epilogue.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

class ConvCudnnGraph final : public ConvCudnn {
 public:
  std::string_view name() const override { return "conv.cudnn_graph"; }
  std::string_view idea() const override {
    return "a convolution and its epilogue as one cuDNN operation graph, channels last";
  }
  std::vector<plan::Offer> offers(const plan::Context& context, const plan::Region& region) const override;
  // Engines for graphs are compiled at create, 0.3 to 3 s each (H200): only for epilogues that cuDNN's own
  // call lacks, on images large enough for a second pass to matter.
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override {
    constexpr int64_t large = int64_t{3} << 20;
    const Graph& graph = context.graph;
    auto parts = parts_of(graph, region, convolution_ops);
    if (!parts || graph.type(parts->product->results[0]).elements() < large) return false;
    const bool plain =
        std::ranges::all_of(parts->after, [](const Node* node) { return node->op == Op::relu; });
    return !plain && residual_of(graph, *parts) == ValueId::none;
  }
  // Introduced by the steps that choose NHWC.
  plan::Entry entry() const override { return plan::Entry::given; }
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override {
    return {proposal_knob()};
  }
  bool has_free_epilogue() const override { return true; }

 private:
  bool finishes(const Graph&, const plan::Region&) const override { return false; }
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override {
    return write_cudnn_convolution(request, CudnnForm::graph);
  }
};

}  // namespace

Result<void> ConvCudnnGraph::accepts_region(const plan::Context& context, const plan::Region& region) const {
  STITCH_CHECK(ConvCudnn::accepts_region(context, region));
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Convolution c = geometry_of(graph, *parts.product);
  if (context.numerics == Numerics::strict || c.transposed || c.groups > 1)
    return not_for(region, "takes convolutions on tensor cores, not transposed, of one group");
  if (!plan::is_constant(graph, parts.product->operands[1])) return not_for(region, "packs its weight once");
  constexpr int64_t at_once = 8;
  const bool padded = graph[parts.product->operands[0]].role != Role::result;
  if (c.channels_out % at_once != 0 || (c.channels_in % at_once != 0 && !padded))
    return not_for(region, "takes channels by eights");
  if (!has_graph_epilogue(graph, region, parts)) return not_for(region, "has no such epilogue");
  return {};
}

std::vector<plan::Offer> ConvCudnnGraph::offers(const plan::Context& context,
                                                const plan::Region& region) const {
  using plan::Arithmetic, plan::Order;
  const Node& node = *plan::convolution_in(context.graph, region);
  if (context.graph.type(node.results[0]).dtype != DType::f32)
    return {{Arithmetic::by_class, Order::channels_last}};
  std::vector<plan::Offer> out;
  for (Arithmetic arithmetic : {Arithmetic::by_class, Arithmetic::half, Arithmetic::half_exact_bias})
    out.push_back({arithmetic, Order::channels_last});
  return out;
}

const Technique& conv_cudnn_graph() {
  static const ConvCudnnGraph technique;
  return technique;
}

}  // namespace stitch::code
