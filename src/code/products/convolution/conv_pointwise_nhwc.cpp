// conv.pointwise_nhwc: 1 x 1 convolutions of NHWC images by our own kernel (kernels/conv_pointwise_nhwc.h),
// with the whole epilogue and the gate of a squeeze-and-excite: FP32 in TF32 or, exact, at FP32 accuracy;
// fp16 and bf16 directly. Chosen by the steps that choose NHWC, for the small products of mobile networks:
// cuBLASLt's smallest tile takes 6 to 7 us for 784 pixels of 960 channels to 160 filters on an H200, and a
// second kernel for its epilogue; 3 MB move.
#include <algorithm>
#include <optional>

#include "base/division.h"
#include "code/loops/kernel.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/convolution/nhwc_tiles.h"
#include "code/products/signature.h"
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
    const Node& node = graph.nodes[static_cast<size_t>(n)];
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

Result<Parts> parts_behind(const Graph& graph, plan::Region region, const std::optional<Gate>& gate) {
  if (gate)
    std::erase_if(region.nodes,
                  [&](int32_t n) { return &graph.nodes[static_cast<size_t>(n)] == gate->node; });
  return parts_of(graph, region, convolution_ops);
}

class ConvPointwiseNhwc final : public ProductTechnique {
 public:
  std::string_view name() const override { return "conv.pointwise_nhwc"; }
  std::string_view idea() const override {
    return "1x1 convolutions over NHWC images: small tiles on tensor cores, epilogue and gate included";
  }
  plan::Kind kind() const override { return plan::Kind::convolution; }
  plan::Entry entry() const override { return plan::Entry::given; }
  std::vector<plan::Offer> offers(const plan::Context& context, const plan::Region& region) const override;
  bool suits(const plan::Context& context, const plan::Region& region,
             const plan::Offer& offer) const override;
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override {
    return nhwc_knobs();
  }
  Result<void> accepts_storage(const plan::Context& context, const plan::Plan& plan,
                               const plan::Region& region) const override;
  plan::Precision operand_precision(const plan::Context& context, const plan::Region& region) const override {
    return convolution_precision(context, region);
  }
  plan::Rate rate(const plan::Context& context, const plan::Region& region) const override {
    return {rate_of(context, region, region.offer), plan::streaming_share, 1};
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;

  // Without shared memory, tensor cores wait for L1.
  double rate_of(const plan::Context& context, const plan::Region& region, const plan::Offer& offer) const {
    const Node& node = *plan::convolution_in(context.graph, region);
    if (offer.rounds_to_half() || context.graph.type(node.results[0]).dtype != DType::f32)
      return 0.2 * context.gpu.tensor_fp16;
    const bool exact = context.numerics == Numerics::strict || is_exact(offer);
    return 0.25 * context.gpu.tensor_tf32 / (exact ? 3 : 1);
  }
};

}  // namespace

std::vector<plan::Offer> ConvPointwiseNhwc::offers(const plan::Context& context,
                                                   const plan::Region& region) const {
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
bool ConvPointwiseNhwc::suits(const plan::Context& context, const plan::Region& region,
                              const plan::Offer& offer) const {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Convolution c = geometry_of(graph, node);
  const bool half = offer.rounds_to_half() || graph.type(node.results[0]).dtype != DType::f32;
  if (context.numerics == Numerics::half && !half) return false;
  if (half && (c.channels_in % 8 != 0 || c.channels_out % 2 != 0))
    return false;  // in pairs: conv.pointwise_odd
  // Tensor cores truncate sums: deep ones lose visibly compared to FP32.
  constexpr int64_t deepest_exact = 1024;
  if (c.positions() == 1 || (is_exact(offer) && c.channels_in > deepest_exact)) return false;
  const double products = cost(graph, node).matrix_flops,
               elements = static_cast<double>(graph.type(node.operands[0]).elements() +
                                              graph.type(node.results[0]).elements()),
               bytes = (half ? 2 : 4) * elements,
               memory = bytes / (plan::streaming_share * context.gpu.bandwidth);
  const double library_rate = half              ? context.gpu.fp16_convolutions
                              : is_exact(offer) ? 0.6 * context.gpu.fp32
                                                : context.gpu.tf32_convolutions;
  constexpr double library_start = 4e-6;  // latency of its first operands and of finishing its tiles
  return std::max(memory, products / rate_of(context, region, offer)) <=
         std::max(memory, products / library_rate) + library_start;
}

Result<void> ConvPointwiseNhwc::accepts_region(const plan::Context& context,
                                               const plan::Region& region) const {
  const Graph& graph = context.graph;
  const auto gate = gate_in(graph, region);
  STITCH_TRY(Parts parts, parts_behind(graph, region, gate));
  const Node& node = *parts.product;
  const DType dtype = graph.type(node.results[0]).dtype;
  const Convolution c = geometry_of(graph, node);
  if (dtype == DType::f64) return not_for(region, "has no convolutions of f64");
  if (c.transposed || c.groups > 1) return not_for(region, "takes convolutions of one group, not transposed");
  if (!plan::is_constant(graph, node.operands[1])) return not_for(region, "packs its weight once");
  for (size_t d = 0; d < 3; ++d)
    if (c.kernel[d] != 1 || c.stride[d] != 1 || c.padding[d] != 0)
      return not_for(region, "has kernels of one pixel only, without strides or padding");
  constexpr int64_t most = int64_t{1} << 31;
  if (graph.type(node.results[0]).elements() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  if (graph.type(node.results[0]).elements() >= most || graph.type(node.operands[0]).elements() >= most)
    return not_for(region, "has no tensors of 2^31 elements");
  if (gate && (std::ranges::find(region.writes, gate->node->results[0]) != region.writes.end() ||
               std::ranges::find(region.reads, gate->x) == region.reads.end() ||
               std::ranges::find(region.reads, gate->gate) == region.reads.end()))
    return not_for(region, "reads its image and the gate from memory");
  return {};
}

namespace {

// Views after the convolution are fine while the result is still an image, but not patches.
bool writes_images(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  const auto parts = parts_behind(context.graph, region, gate_in(context.graph, region));
  if (!parts) return false;
  auto reorders = [](const Node* node) { return node->op == Op::permute || node->op == Op::reshape; };
  if (std::ranges::none_of(parts->after, reorders)) return true;
  if (!plan.storage[index_of(region.writes[0])].order.empty()) return false;
  const RegionRequest request = loops::plain_request(context, region);
  const auto result = result_place(request, *parts);
  return result && !result->scatter && result->view.offset == 0 &&
         (dense_nchw(result->view) ||
          channels_last(geometry_of(context.graph, *parts->product), result->view));
}

}  // namespace

// NHWC, or NCHW at the ends of a network's NHWC part, in the multiplied type.
Result<void> ConvPointwiseNhwc::accepts_storage(const plan::Context& context, const plan::Plan& plan,
                                                const plan::Region& region) const {
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

Result<RegionCode> ConvPointwiseNhwc::write_region(const RegionRequest& request) const {
  const auto gate = gate_in(request.graph, request.region);
  STITCH_TRY(Parts parts, parts_behind(request.graph, request.region, gate));
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
  const bool exact =
      type == DType::f32 && (request.context.numerics == Numerics::strict || is_exact(request.region.offer));
  const NhwcTiles tiles = nhwc_tiles(request.context, request.region, c.batch * c.positions(), c.channels_in,
                                     c.channels_out, type, exact);
  const std::string rows = type_name(request.name, "Rows"), packed = request.name + "_weight_packed",
                    function = "pack_" + request.name;
  // The size of NhwcTile.
  const int64_t elements = tiles.slices(c.channels_out) * tiles.filter_tiles *
                           divided_up(c.channels_in, nhwc_step(type)) * 32 * (16 / size_of(type)) *
                           (exact ? 2 : 1);
  const std::string comment = format("({}): operands as lanes take them", elements);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pointwise_nhwc.h\"\n";
  code.packed.push_back(packed_memory(packed, type, elements, PackCall{function, {weight.pointer, packed}}));
  Signature pack(function), signature("enqueue_" + request.name);
  pack.read(weight);
  pack.add(Signature::writes, code.packed.back().type + "*", "packed", comment);
  signature.read(x);
  if (gate_place) signature.read(*gate_place);
  signature.packed(code.packed.back(), comment);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = pack.declaration() + signature.declaration();
  code.source =
      format("// {}{}{}{}\n// A product of all pixels in {}; kernels/conv_pointwise_nhwc.h has the kernel.\n",
             gate_place ? format("times {}, ", gate_place->pointer) : "", describe(c),
             epilogue.summary.empty() ? "" : ", then ", epilogue.summary,
             type != DType::f32 ? std::string(stitch::name(type))
             : exact            ? "pairs of TF32"
                                : "TF32");
  code.source += format(
      "struct {} {{\n  static constexpr int64_t pixels = {}, plane = {};  // of all samples, and of one\n"
      "  static constexpr int channels = {}, filters = {};\n"
      "  static constexpr int pixel_tiles = {}, filter_tiles = {}, depth_warps = {};\n"
      "  static constexpr bool x_nchw = {}, out_nchw = {}, raw_weights = false;\n}};\n\n",
      rows, c.batch * c.positions(), c.positions(), c.channels_in, c.channels_out, tiles.pixel_tiles,
      tiles.filter_tiles, tiles.depth_warps, x_nchw, out_nchw);
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  const std::string form = format("{}, {}, {}", rows, element_type(type), exact);
  code.source += format("{} {{\n  return stitch::pack_nhwc<{}>({}, packed, stream);\n}}\n\n", pack.head(),
                        form, weight.pointer);
  code.source += format("{} {{\n  return stitch::{}<{}>(\n      \"{}\", {}, {}{}, {}, {}, stream);\n}}\n",
                        signature.head(), gate_place ? "enqueue_gated_nhwc" : "enqueue_pointwise_nhwc", form,
                        request.name, x.pointer, gate_place ? gate_place->pointer + ", " : "", packed,
                        out.pointer, epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

const Technique& conv_pointwise_nhwc() {
  static const ConvPointwiseNhwc technique;
  return technique;
}

}  // namespace stitch::code
