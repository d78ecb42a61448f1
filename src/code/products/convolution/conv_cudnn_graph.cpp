// conv.cudnn_graph: conv.cudnn with the whole epilogue in the kernel, as a cuDNN operation graph in NHWC
// (runtime/cudnn_graph.h): biases and residuals are added in FP32 before rounding. Without an engine for the
// graph at create, it is conv.cudnn.
#include <algorithm>

#include "code/products/convolution/conv_cudnn.h"
#include "code/products/graph_epilogue.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// Engines for graphs are compiled at create, 0.3 to 3 s each (H200): only for epilogues that cuDNN's own call
// lacks, on images large enough for a second pass to matter.
bool suits_conv_cudnn_graph(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  constexpr int64_t large = int64_t{3} << 20;
  const Graph& graph = context.graph;
  auto parts = parts_of(graph, region, convolution_ops);
  if (!parts || graph.type(parts->product->results[0]).elements() < large) return false;
  const bool plain = std::ranges::all_of(parts->after, [](const Node* node) { return node->op == Op::relu; });
  return !plain && residual_of(graph, *parts) == ValueId::none;
}

Result<void> accepts_conv_cudnn_graph(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_conv_cudnn(context, region));
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

std::vector<plan::Offer> offers_conv_cudnn_graph(const plan::Context& context, const plan::Region& region) {
  using plan::Arithmetic, plan::Order;
  const Node& node = *plan::convolution_in(context.graph, region);
  if (context.graph.type(node.results[0]).dtype != DType::f32)
    return {{Arithmetic::by_class, Order::channels_last}};
  std::vector<plan::Offer> out;
  for (Arithmetic arithmetic : {Arithmetic::by_class, Arithmetic::half, Arithmetic::half_exact_bias})
    out.push_back({arithmetic, Order::channels_last});
  return out;
}

}  // namespace

constinit const ProductTechnique conv_cudnn_graph{[] {
  ProductRow row = cudnn_row<CudnnForm::graph>(
      "conv.cudnn_graph", "a convolution and its epilogue as one cuDNN operation graph, channels last");
  row.entry = plan::Entry::given;  // introduced by the steps that choose NHWC
  row.accepts = accepts_conv_cudnn_graph;
  row.offers = offers_conv_cudnn_graph;
  row.suits = suits_conv_cudnn_graph;
  row.gives_way = [](const plan::Context&, const plan::Region&) { return true; };
  row.knobs = [](const plan::Context&, const plan::Region&) { return std::vector{proposal_knob()}; };
  return row;
}()};

}  // namespace stitch::code
