// conv.pointwise_odd: 1 x 1 convolutions of NHWC images whose channels or filters aren't multiples of eight,
// in fp16 or bf16 with FP32 sums, by our own kernel (kernels/conv_pointwise_odd.h), with bias and epilogue.
// Libraries pad such images, filters and results in separate kernels: cuDNN takes 31 us for 16 x 58 x 28² to
// 58 filters on an H200, whose bytes take 1. Chosen by the steps that choose NHWC, for products so small that
// padding matters.
#include <algorithm>

#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

class ConvPointwiseOdd final : public ProductTechnique {
 public:
  std::string_view name() const override { return "conv.pointwise_odd"; }
  std::string_view idea() const override {
    return "1x1 convolutions over channels that aren't multiples of eight, channels last, without padding";
  }
  plan::Kind kind() const override { return plan::Kind::convolution; }
  plan::Entry entry() const override { return plan::Entry::given; }
  std::vector<plan::Offer> offers(const plan::Context& context, const plan::Region& region) const override {
    using plan::Arithmetic, plan::Order;
    const Node& node = *plan::convolution_in(context.graph, region);
    if (context.graph.type(node.results[0]).dtype != DType::f32)
      return {{Arithmetic::by_class, Order::channels_last}};
    return {{Arithmetic::half, Order::channels_last}, {Arithmetic::half_exact_bias, Order::channels_last}};
  }
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override {
    constexpr int64_t most_channels = 256, most_filters = 512;
    const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
    return c.positions() > 1 && c.channels_in <= most_channels && c.channels_out <= most_filters;
  }
  Result<void> accepts_storage(const plan::Context& context, const plan::Plan& plan,
                               const plan::Region& region) const override {
    const ValueId x = plan::convolution_in(context.graph, region)->operands[0];
    if (plan::is_channels_last(context.graph, plan, x) &&
        plan::is_channels_last(context.graph, plan, region.writes[0]))
      return {};
    return at(region.name, user_error("technique", "conv.pointwise_odd reads and writes channels last"));
  }
  plan::Precision operand_precision(const plan::Context& context, const plan::Region& region) const override {
    return convolution_precision(context, region);
  }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.15 * context.gpu.tensor_fp16, plan::streaming_share, 1};
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> ConvPointwiseOdd::accepts_region(const plan::Context& context,
                                              const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  const DType dtype = graph.type(node.results[0]).dtype;
  const Convolution c = geometry_of(graph, node);
  if (dtype == DType::f64) return not_for(region, "has no convolutions of f64");
  if (context.numerics == Numerics::strict && dtype == DType::f32) return not_for(region, "rounds to fp16");
  if (c.transposed || c.groups > 1) return not_for(region, "takes convolutions of one group, not transposed");
  if (!plan::is_constant(graph, node.operands[1])) return not_for(region, "packs its weight once");
  if (std::ranges::find(region.reads, node.operands[0]) == region.reads.end())
    return not_for(region, "reads whole images, not slices of their channels");
  for (size_t d = 0; d < 3; ++d)
    if (c.kernel[d] != 1 || c.stride[d] != 1 || c.padding[d] != 0)
      return not_for(region, "has kernels of one pixel only, without strides or padding");
  constexpr int64_t at_once = 8, most = int64_t{1} << 31;
  if (c.channels_in % at_once == 0 && c.channels_out % at_once == 0)
    return not_for(region, "leaves channels by eights to libraries");
  if (graph.type(node.results[0]).elements() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  if (graph.type(node.results[0]).elements() >= most || graph.type(node.operands[0]).elements() >= most)
    return not_for(region, "has no tensors of 2^31 elements");
  return {};
}

Result<RegionCode> ConvPointwiseOdd::write_region(const RegionRequest& request) const {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  if (c.result.scatter || !channels_last(c, c.x) || !channels_last(c, c.result.view) || c.x.offset != 0 ||
      c.result.view.offset != 0)
    return not_for(request.region, "reads and writes channels last");
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  const DType type =
      request.graph.type(parts.product->results[0]).dtype == DType::bf16 ? DType::bf16 : DType::f16;
  const std::string product = type_name(request.name, "Product"), rows = type_name(request.name, "Rows"),
                    packed = request.name + "_weight_packed", function = "pack_" + request.name;
  // The size of OddTile.
  const int64_t filter_tiles = (c.channels_out + 7) / 8, slices = (filter_tiles + 7) / 8,
                elements =
                    slices * ((filter_tiles + slices - 1) / slices) * ((c.channels_in + 15) / 16) * 128;
  const std::string comment = format("({}): operands as lanes take them", elements);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pointwise_odd.h\"\n";
  code.packed.push_back(packed_memory(packed, type, elements, PackCall{function, {weight.pointer, packed}}));
  Signature pack(function), signature("enqueue_" + request.name);
  pack.read(weight);
  pack.add(Signature::writes, code.packed.back().type + "*", "packed", comment);
  signature.read(x);
  signature.packed(code.packed.back(), comment);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = pack.declaration() + signature.declaration();
  code.source =
      format("// {}{}{}\n// A product of all pixels in {}; kernels/conv_pointwise_odd.h has the kernel.\n",
             describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary, stitch::name(type));
  code.source += convolution_struct(c, product) + "\n";
  code.source += format(
      "struct {} {{\n  static constexpr int64_t pixels = {}, plane = {};  // of all samples, and of one\n"
      "  static constexpr int channels = {}, filters = {};\n}};\n\n",
      rows, c.batch * c.positions(), c.positions(), c.channels_in, c.channels_out);
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format("{} {{\n  return stitch::pack_odd<{}, {}>({}, packed, stream);\n}}\n\n", pack.head(),
                        product, rows, weight.pointer);
  code.source +=
      format("{} {{\n  return stitch::enqueue_odd<{}, {}>(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
             signature.head(), product, rows, request.name, x.pointer, packed, out.pointer,
             epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

const Technique& conv_pointwise_odd() {
  static const ConvPointwiseOdd technique;
  return technique;
}

}  // namespace stitch::code
