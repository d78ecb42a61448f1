// conv.cudnn's share of a GPU's rates, and its traffic and rounding besides the convolution.
#include <algorithm>

#include "code/products/convolution/conv_cudnn.h"
#include "code/products/convolution/rearranged.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

bool multiplies_halves(const Graph& graph, const Node& node, const plan::Offer& offer) {
  return offer.rounds_to_half() || graph.type(node.results[0]).dtype != DType::f32;
}

}  // namespace

std::optional<double> cudnn_kernel_bytes(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  int64_t elements = 0;
  for (ValueId id : {node.operands[0], node.operands[1], node.results[0]})
    elements += graph.type(id).elements();
  return static_cast<double>(elements * (multiplies_halves(graph, node, region.offer) ? 2 : 4));
}

namespace {

// Transposed convolutions (gradients) on an H200 in fp16: 448 TFLOP/s for 128 x 64 x 256² to 64 filters
// without strides, 172 for 16 channels in three dimensions, 190 to 310 with strides.
double gradient_share(const Convolution& c) {
  if (!c.transposed) return 1;
  const auto phases = phases_of(c);  // by one convolution, if that is faster
  if (phases && c.dims < 3 && c.channels_out <= 64 && !phases->pads_taps(c)) return 1;
  if (c.stride != Convolution::Three{1, 1, 1}) return 0.4;
  return c.channels_in <= 16 ? 0.3 : 0.75;
}

}  // namespace

plan::Rate cudnn_rate(const plan::Context& context, const plan::Region& region) {
  const GpuSpec& gpu = context.gpu;
  const plan::Offer& offer = region.offer;
  const double kernels = offer == plan::Offer{} ? 1.5 : 1;
  const Node& node = *plan::convolution_in(context.graph, region);
  // 32 x 3 x 224² to 64 filters of 7 x 7 takes 200 us, to 16 of 3 x 3 28 us (H200).
  const int64_t channels = plan::channels_per_group(context.graph, node);
  const bool few = channels < 8 && plan::filter_taps(context.graph, node) <= 49;
  const Convolution c = geometry_of(context.graph, node);
  const auto folded =
      offer.order == plan::Order::channels_last ? folded_of(context.graph, c, 8) : std::nullopt;
  const double filled = folded ? folded->filled(c) : few ? static_cast<double>(channels) / 64 : 1;
  if (multiplies_halves(context.graph, node, offer))
    return {filled * gradient_share(c) * gpu.fp16_convolutions, plan::streaming_share, kernels};
  const bool tf32 = context.numerics != Numerics::strict && offer.arithmetic != plan::Arithmetic::exact;
  return {tf32 ? gpu.tf32_convolutions : 0.6 * gpu.fp32, plan::streaming_share, kernels};
}

namespace {

// Whether a pass over the result follows.
bool finishes(CudnnForm form, const Graph& graph, const plan::Region& region) {
  if (form == CudnnForm::graph) return false;
  if (form == CudnnForm::as_pytorch) return region.nodes.size() > 1;
  auto parts = parts_of(graph, region, convolution_ops);
  if (parts && region.offer.order == plan::Order::channels_last &&
      region.offer.arithmetic != plan::Arithmetic::half_exact_bias &&
      residual_of(graph, *parts) != ValueId::none)
    return false;
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Op op = graph.node(n).op;
    return !plan::is_convolution(op) && op != Op::relu && info(op).family != Family::view;
  });
}

// Tensor cores take channels by 16 bytes. For others cuDNN pads image, filter and result in separate kernels:
// ten kernels and 31 us for 16 x 58 x 28² to 58 filters of 1 x 1 on an H200, of which the convolution is 7.
// In bytes, by which layouts are chosen.
// `arranged`: the region copies the image first and pads its channels.
double padded_bytes(const plan::Context& context, const plan::Region& region, bool arranged) {
  const Graph& graph = context.graph;
  const Convolution c = geometry_of(graph, *plan::convolution_in(graph, region));
  const bool halves = multiplies_halves(graph, *plan::convolution_in(graph, region), region.offer);
  const bool cores =
      halves || (context.numerics != Numerics::strict && region.offer.arithmetic != plan::Arithmetic::exact &&
                 region.offer.order == plan::Order::channels_last);
  const int64_t at_once = halves ? 8 : 4;
  if (!cores || c.depthwise() ||
      ((arranged || c.channels_in % at_once == 0) && c.channels_out % at_once == 0))
    return 0;
  constexpr double kernels = 9;
  const Node& node = *plan::convolution_in(graph, region);
  const auto elements =
      static_cast<double>(graph.type(node.operands[0]).elements() + graph.type(node.results[0]).elements());
  return 2 * (halves ? 2 : 4) * elements +
         kernels * context.gpu.kernel_overhead * plan::streaming_share * context.gpu.bandwidth;
}

}  // namespace

// Layout and type conversions, and a pass for what the library's epilogue can't do.
double cudnn_rearranged_bytes(CudnnForm form, const plan::Context& context, const plan::Plan& plan,
                              const plan::Region& region) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const double in = static_cast<double>(graph.type(node.operands[0]).elements()),
               out = static_cast<double>(graph.type(node.results[0]).elements());
  const DType dtype = graph.type(node.results[0]).dtype,
              type = region.offer.rounds_to_half() ? DType::f16 : dtype;
  const double bytes = static_cast<double>(size_of(type));
  const bool finished = finishes(form, graph, region);
  if (region.offer.order == plan::Order::row_major) {
    // Its tensor cores need NHWC: it transposes NCHW images and the result.
    const double transposed = context.numerics != Numerics::strict ? 2 * bytes * (in + out) : 0;
    return transposed + (finished ? 2 * bytes * out : 0) + padded_bytes(context, region, false);
  }
  auto ready = [&](ValueId id) {
    return plan.storage[index_of(id)].dtype == type && plan::is_channels_last(graph, plan, id);
  };
  const bool x_ready =
      std::ranges::find(region.reads, node.operands[0]) != region.reads.end() && ready(node.operands[0]);
  const bool out_ready = ready(region.writes[0]);
  return (x_ready ? 0 : 2 * bytes * in) + (!out_ready || finished ? 2 * bytes * out : 0) +
         padded_bytes(context, region, !x_ready);
}

// cuDNN writes fp16, and a pass finishes it or converts to FP32.
bool cudnn_rounds_product(CudnnForm form, const plan::Context& context, const plan::Plan& plan,
                          const plan::Region& region) {
  if (convolution_precision(context, region) != plan::Precision::f16) return false;
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const bool bias = node.operands.size() > 2 && node.operands[2] != ValueId::none;
  const bool bias_behind =
      bias && form != CudnnForm::graph &&
      (node.op == Op::conv_transpose || region.offer.arithmetic == plan::Arithmetic::half_exact_bias);
  return bias_behind || finishes(form, graph, region) ||
         plan.storage[index_of(region.writes[0])].dtype == DType::f32;
}

}  // namespace stitch::code
