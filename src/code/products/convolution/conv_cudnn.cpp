// conv.cudnn: a convolution or transposed convolution by cuDNN, with bias and ReLU fused if it supports them.
// Exact FP32 in class strict; TF32 if the class allows it. Offers: half multiplies in fp16, NHWC, with FP32
// sums (TF32's mantissa, 1.8x as fast as TF32 in NHWC on an H200); by_class in NHWC multiplies in TF32,
// transposed ones by phases if that is faster; half_exact_bias adds a bias in FP32, in a pass after fp16.
// Knobs: search, and which proposal is used. Tensors in other layouts are copied (kernels/conv_arrange.h);
// filters are packed once. Strides over few channels are folded into channels (rearranged.h). Chosen for
// every convolution with more than a few channels.
#include "code/products/convolution/conv_cudnn.h"

#include <algorithm>

#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

Result<void> accepts_conv_cudnn(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(const Convolution c,
             accepts_convolution(graph, region, {.packs = false, .indexed_by_int = true}));
  const Node& node = *plan::convolution_in(graph, region);
  if (!plan::is_constant(graph, node.operands[1]) &&
      (graph.type(node.results[0]).dtype != DType::f32 || context.numerics == Numerics::half))
    return not_for(region, "packs its weight once");
  for (size_t d = 0; d < 3; ++d) {
    // cuDNN checks a transposed convolution by the forward one.
    int64_t back =
        (c.size_out[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1) / c.stride[d] + 1;
    if (c.transposed && back != c.size_in[d])
      return not_for(region, "has no transposed convolution with an output padding of a whole stride");
  }
  return {};
}

std::vector<plan::Offer> offers_conv_cudnn(const plan::Context& context, const plan::Region& region) {
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

constinit const ProductTechnique conv_cudnn{[] {
  ProductRow row = cudnn_row<CudnnForm::library>("conv.cudnn", "a convolution by cuDNN, bias and ReLU fused");
  row.gives_way = [](const plan::Context&, const plan::Region&) { return true; };
  row.knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
    return {proposal_knob(), {"search", "1: cuDNN times its algorithms when a program is created", {0, 1}}};
  };
  return row;
}()};

// conv.cudnn_graph: conv.cudnn with the whole epilogue in the kernel, as a cuDNN operation graph in NHWC
// (runtime/cudnn_graph.h): biases and residuals are added in FP32 before rounding. Without an engine for the
// graph at create, it is conv.cudnn.

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
