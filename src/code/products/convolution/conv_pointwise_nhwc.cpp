// conv.pointwise_nhwc: 1 x 1 convolutions of NHWC images by our own kernel (kernels/conv_pointwise_nhwc.h),
// with the whole epilogue and the gate of a squeeze-and-excite: FP32 in TF32 or, exact, at FP32 accuracy;
// fp16 and bf16 directly. Chosen by the steps that choose NHWC, for the small products of mobile networks:
// cuBLASLt's smallest tile takes 6 to 7 us for 784 pixels of 960 channels to 160 filters on an H200, and a
// second kernel for its epilogue; 3 MB move.
#include <algorithm>
#include <optional>

#include "base/division.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/convolution/tiles.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// x multiplied by one number per sample and channel, before the convolution.
struct Gate {
  const Node* node = nullptr;
  ValueId x = ValueId::none, gate = ValueId::none;
};
std::optional<Gate> gate_in(const Graph& graph, const plan::Region& region) {
  const Node* convolution = plan::convolution_in(graph, region);
  if (!convolution) return std::nullopt;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op != Op::mul || node.results[0] != convolution->operands[0]) continue;
    const Shape& shape = graph.type(node.results[0]).shape;
    Shape pixel(shape.size(), 1);
    std::copy_n(shape.begin(), 2, pixel.begin());
    for (size_t side : {0u, 1u})
      if (graph.type(node.operands[side]).shape == shape &&
          graph.type(node.operands[1 - side]).shape == pixel && shape != pixel)
        return Gate{&node, node.operands[side], node.operands[1 - side]};
  }
  return std::nullopt;
}

plan::Region without(const Graph& graph, plan::Region region, const std::optional<Gate>& gate) {
  if (gate) std::erase_if(region.nodes, [&](int32_t n) { return &graph.node(n) == gate->node; });
  return region;
}

// Without shared memory, tensor cores wait for L1.
double rate_of(const plan::Context& context, const plan::Region& region, const plan::Offer& offer) {
  const Node& node = *plan::convolution_in(context.graph, region);
  if (offer.rounds_to_half() || context.graph.type(node.results[0]).dtype != DType::f32)
    return 0.2 * context.gpu.tensor_fp16;
  const bool exact = context.numerics == Numerics::strict || offer.arithmetic == plan::Arithmetic::exact;
  return 0.25 * context.gpu.tensor_tf32 / (exact ? 3 : 1);
}

std::vector<plan::Offer> offers_conv_pointwise_nhwc(const plan::Context& context,
                                                    const plan::Region& region) {
  using plan::Arithmetic, plan::Order;
  const Node& node = *plan::convolution_in(context.graph, region);
  std::vector<plan::Offer> out = {{Arithmetic::by_class, Order::channels_last}};
  if (context.graph.type(node.results[0]).dtype != DType::f32) return out;
  for (Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::half, Arithmetic::half_exact_bias})
    out.push_back({arithmetic, Order::channels_last});
  return out;
}

// If a library's tiles are few, or it needs a second kernel for the epilogue. For large products it uses
// tensor cores better.
bool suits_conv_pointwise_nhwc(const plan::Context& context, const plan::Region& region,
                               const plan::Offer& offer) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Convolution c = geometry_of(graph, node);
  const bool half = offer.rounds_to_half() || graph.type(node.results[0]).dtype != DType::f32;
  if (context.numerics == Numerics::half && !half) return false;
  if (half && (c.channels_in % 8 != 0 || c.channels_out % 2 != 0))
    return false;  // in pairs: conv.pointwise_odd
  // Tensor cores truncate sums: deep ones lose visibly compared to FP32.
  constexpr int64_t deepest_exact = 1024;
  if (c.positions() == 1 || (offer.arithmetic == plan::Arithmetic::exact && c.channels_in > deepest_exact))
    return false;
  const double products = cost(graph, node).matrix_flops,
               elements = static_cast<double>(graph.type(node.operands[0]).elements() +
                                              graph.type(node.results[0]).elements()),
               bytes = (half ? 2 : 4) * elements,
               memory = bytes / (plan::streaming_share * context.gpu.bandwidth);
  const double library_rate = half                                          ? context.gpu.fp16_convolutions
                              : offer.arithmetic == plan::Arithmetic::exact ? 0.6 * context.gpu.fp32
                                                                            : context.gpu.tf32_convolutions;
  constexpr double library_start = 4e-6;  // latency of its first operands and of finishing its tiles
  return std::max(memory, products / rate_of(context, region, offer)) <=
         std::max(memory, products / library_rate) + library_start;
}

Result<void> accepts_conv_pointwise_nhwc(const plan::Context& context, const plan::Region& region) {
  const auto gate = gate_in(context.graph, region);
  STITCH_CHECK(
      accepts_convolution(context.graph, without(context.graph, region, gate),
                          {.one_group = true, .one_tap = true, .strides = false, .indexed_by_int = true}));
  if (gate && (std::ranges::find(region.writes, gate->node->results[0]) != region.writes.end() ||
               std::ranges::find(region.reads, gate->x) == region.reads.end() ||
               std::ranges::find(region.reads, gate->gate) == region.reads.end()))
    return not_for(region, "reads its image and the gate from memory");
  return {};
}

// Views after the convolution are fine while the result is still an image, but not patches.
bool writes_images(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  const auto parts = parts_of(context.graph, without(context.graph, region, gate_in(context.graph, region)),
                              convolution_ops);
  if (!parts) return false;
  auto reorders = [](const Node* node) { return node->op == Op::permute || node->op == Op::reshape; };
  if (std::ranges::none_of(parts->after, reorders)) return true;
  if (!plan.storage[index_of(region.writes[0])].order.empty()) return false;
  const RegionRequest request = request_alone(context, region);
  const auto result = result_place(request, *parts);
  return result && !result->scatter && result->view.offset == 0 &&
         (dense_nchw(result->view) ||
          channels_last(geometry_of(context.graph, *parts->product), result->view));
}

// NHWC, or NCHW at the ends of a network's NHWC part, in the multiplied type.
Result<void> accepts_storage_conv_pointwise_nhwc(const plan::Context& context, const plan::Plan& plan,
                                                 const plan::Region& region) {
  const Graph& graph = context.graph;
  const auto gate = gate_in(graph, region);
  const Node& node = *plan::convolution_in(graph, region);
  const ValueId x = gate ? gate->x : node.operands[0], out = region.writes[0];
  const DType own = graph.type(node.results[0]).dtype, type = own != DType::f32               ? own
                                                              : region.offer.rounds_to_half() ? DType::f16
                                                                                              : DType::f32;
  const bool direct = std::ranges::find(region.reads, x) != region.reads.end();
  const DType by = gate ? plan.storage[index_of(gate->gate)].dtype : type;
  const bool gated = by == type || by == DType::f32;
  auto lies = [&](ValueId id) {
    return plan.storage[index_of(id)].order.empty() || plan::is_channels_last(graph, plan, id);
  };
  const bool last = plan::is_channels_last(graph, plan, x) || plan::is_channels_last(graph, plan, out);
  if (direct && gated && last && lies(x) && lies(out) && plan.storage[index_of(x)].dtype == type &&
      writes_images(context, plan, region))
    return {};
  return at(region.name,
            user_error("technique",
                       format("conv.pointwise_nhwc reads or writes NHWC images of {}", stitch::name(type))));
}

Result<RegionCode> write_conv_pointwise_nhwc(const RegionRequest& request) {
  const auto gate = gate_in(request.graph, request.region);
  STITCH_TRY(Parts parts,
             parts_of(request.graph, without(request.graph, request.region, gate), convolution_ops));
  Convolution c = geometry_of(request.graph, *parts.product);
  auto x_view = find_view(request, gate ? gate->x : parts.product->operands[0]),
       weight_view = find_view(request, parts.product->operands[1]);
  if (!x_view || !weight_view) return not_for(request.region, "can't read its operands where they lie");
  c.x = *x_view;
  c.weight = *weight_view;
  STITCH_TRY(c.result, result_place(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1, 1, nullptr, ElementBy::coordinates));
  const bool x_nchw = !channels_last(c, c.x), out_nchw = !channels_last(c, c.result.view);
  if (c.result.scatter || (x_nchw && !dense_nchw(c.x)) || (out_nchw && !dense_nchw(c.result.view)) ||
      c.x.offset != 0 || c.result.view.offset != 0)
    return not_for(request.region, "reads and writes whole NHWC or NCHW images");
  if (!c.weight.contiguous() || c.weight.offset != 0) return not_for(request.region, "needs a dense weight");
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  const DType own = request.graph.type(parts.product->results[0]).dtype;
  const bool half = request.region.offer.rounds_to_half() || request.context.numerics == Numerics::half;
  if (own == DType::f32 && x.dtype != (half ? DType::f16 : DType::f32))
    return not_for(request.region, format("multiplies {}", stitch::name(half ? DType::f16 : DType::f32)));
  const Place* gate_place = nullptr;
  if (gate) {
    auto view = find_view(request, gate->gate);
    if (!view || !view->contiguous() || view->offset != 0 ||
        (view->place->dtype != x.dtype && view->place->dtype != DType::f32))
      return not_for(request.region, "needs a dense gate of the image's type or of FP32");
    gate_place = view->place;
  }
  const DType type = x.dtype;
  const bool exact = type == DType::f32 && (request.context.numerics == Numerics::strict ||
                                            request.region.offer.arithmetic == plan::Arithmetic::exact);
  const Graph& deciding = request.deciding().graph;
  const Node& decided = deciding.node(request.graph.number_of(*parts.product));
  const NhwcTiles tiles = nhwc_tiles(request.deciding().context, request.region,
                                     deciding.type(decided.results[0]).elements() / c.channels_out,
                                     c.channels_in, c.channels_out, type, exact);
  const std::string rows = type_name(request.name, "Rows"), packed = request.name + "_weight_packed",
                    form = format("{}, {}, {}", rows, element_type(type), exact);
  // The size of NhwcTile.
  const int64_t elements = tiles.slices(c.channels_out) * tiles.filter_tiles *
                           divided_up(c.channels_in, nhwc_step(type)) * 32 * (16 / size_of(type)) *
                           (exact ? 2 : 1);
  KernelRegion region{
      .header = "conv_pointwise_nhwc.h",
      .summary = (gate_place ? format("times {}, ", gate_place->pointer) : "") + describe(c),
      .idea = format("A product of all pixels in {}; kernels/conv_pointwise_nhwc.h has the kernel.",
                     type != DType::f32 ? std::string(stitch::name(type))
                     : exact            ? "pairs of TF32"
                                        : "TF32"),
      .structs = format(
          "struct {} {{\n  using Index = {};\n  static constexpr int64_t pixels = {}, plane = {};  // of all "
          "samples, "
          "and of one\n"
          "  static constexpr int channels = {}, filters = {};\n"
          "  static constexpr int pixel_tiles = {}, filter_tiles = {}, depth_warps = {}, multiprocessors = "
          "{};\n"
          "  static constexpr bool x_nchw = {}, out_nchw = {}, raw_weights = false;\n}};\n\n",
          rows, c.batch * c.positions() < (int64_t{1} << 30) ? "int" : "int64_t", c.batch * c.positions(),
          c.positions(), c.channels_in, c.channels_out, tiles.pixel_tiles, tiles.filter_tiles,
          tiles.depth_warps, request.context.gpu.sms, x_nchw, out_nchw),
      .reads = {&x},
      .packed = {{weight, packed, type, elements, "operands as lanes take them",
                  format("pack_nhwc<{}>", form)}},
      .call = format("{}<{}, {}>", gate_place ? "enqueue_gated_nhwc" : "enqueue_pointwise_nhwc",
                     element_type(type), exact),
      .arguments = {rows + "{}", x.pointer, packed, out.pointer}};
  if (gate_place) {
    region.reads.push_back(gate_place);
    region.arguments.insert(region.arguments.begin() + 2, gate_place->pointer);
  }
  return write_kernel(request, out, epilogue, region);
}

}  // namespace

constinit const ProductTechnique conv_pointwise_nhwc{{
    .name = "conv.pointwise_nhwc",
    .idea = "1x1 convolutions over NHWC images: small tiles on tensor cores, epilogue and gate included",
    .kind = plan::Kind::convolution,
    .entry = plan::Entry::given,
    .accepts = accepts_conv_pointwise_nhwc,
    .write = write_conv_pointwise_nhwc,
    .rate = [](const plan::Context& context, const plan::Region& region) -> plan::Rate {
      return {rate_of(context, region, region.offer), plan::streaming_share, 1};
    },
    .offers = offers_conv_pointwise_nhwc,
    .suits = suits_conv_pointwise_nhwc,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return nhwc_knobs();
    },
    .accepts_storage = accepts_storage_conv_pointwise_nhwc,
    .operand_precision = [](const plan::Context& context,
                            const plan::Region& region) { return convolution_precision(context, region); },
}};

}  // namespace stitch::code
