// conv.pointwise_odd: 1 x 1 convolutions of NHWC images whose channels or filters aren't multiples of eight,
// in fp16 or bf16 with FP32 sums, by our own kernel (kernels/conv_pointwise_odd.h), with bias and epilogue.
// Libraries pad such images, filters and results in separate kernels: cuDNN takes 31 us for 16 x 58 x 28² to
// 58 filters on an H200, whose bytes take 1. Chosen by the steps that choose NHWC, for products so small that
// padding matters.
#include <algorithm>

#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

Result<void> accepts_conv_pointwise_odd(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(
      const Convolution c,
      accepts_convolution(graph, region,
                          {.one_group = true, .one_tap = true, .strides = false, .indexed_by_int = true}));
  const Node& node = *plan::convolution_in(graph, region);
  if (context.numerics == Numerics::strict && graph.type(node.results[0]).dtype == DType::f32)
    return not_for(region, "rounds to fp16");
  if (std::ranges::find(region.reads, node.operands[0]) == region.reads.end())
    return not_for(region, "reads whole images, not slices of their channels");
  constexpr int64_t at_once = 8;
  if (c.channels_in % at_once == 0 && c.channels_out % at_once == 0)
    return not_for(region, "leaves channels by eights to libraries");
  return {};
}

Result<RegionCode> write_conv_pointwise_odd(const RegionRequest& request) {
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
                    packed = request.name + "_weight_packed";
  // The size of OddTile.
  const int64_t filter_tiles = (c.channels_out + 7) / 8, slices = (filter_tiles + 7) / 8,
                elements =
                    slices * ((filter_tiles + slices - 1) / slices) * ((c.channels_in + 15) / 16) * 128;
  const std::string sizes = format(
      "struct {} {{\n  static constexpr int64_t pixels = {}, plane = {};  // of all samples, and of one\n"
      "  static constexpr int channels = {}, filters = {};\n}};\n\n",
      rows, c.batch * c.positions(), c.positions(), c.channels_in, c.channels_out);
  return write_kernel(
      request, out, epilogue,
      {.header = "conv_pointwise_odd.h",
       .summary = describe(c),
       .idea = format("A product of all pixels in {}; kernels/conv_pointwise_odd.h has the kernel.",
                      stitch::name(type)),
       .structs = convolution_struct(c, product) + "\n" + sizes,
       .reads = {&x},
       .packed = {{weight, packed, type, elements, "operands as lanes take them",
                   format("pack_odd<{}, {}>", product, rows)}},
       .call = format("enqueue_odd<{}>", product),
       .arguments = {rows + "{}", x.pointer, packed, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_pointwise_odd{{
    .name = "conv.pointwise_odd",
    .idea = "1x1 convolutions over channels that aren't multiples of eight, channels last, without padding",
    .kind = plan::Kind::convolution,
    .entry = plan::Entry::given,
    .accepts = accepts_conv_pointwise_odd,
    .write = write_conv_pointwise_odd,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.15 * context.gpu.tensor_fp16, plan::streaming_share, 1};
    },
    .offers = [](const plan::Context& context, const plan::Region& region) -> std::vector<plan::Offer> {
      using plan::Arithmetic, plan::Order;
      const Node& node = *plan::convolution_in(context.graph, region);
      if (context.graph.type(node.results[0]).dtype != DType::f32)
        return {{Arithmetic::by_class, Order::channels_last}};
      return {{Arithmetic::half, Order::channels_last}, {Arithmetic::half_exact_bias, Order::channels_last}};
    },
    .suits =
        [](const plan::Context& context, const plan::Region& region, const plan::Offer&) {
          constexpr int64_t most_channels = 256, most_filters = 512;
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          return c.positions() > 1 && c.channels_in <= most_channels && c.channels_out <= most_filters;
        },
    .accepts_storage = [](const plan::Context& context, const plan::Plan& plan,
                          const plan::Region& region) -> Result<void> {
      const ValueId x = plan::convolution_in(context.graph, region)->operands[0];
      if (plan::is_channels_last(context.graph, plan, x) &&
          plan::is_channels_last(context.graph, plan, region.writes[0]))
        return {};
      return not_for(region, "reads and writes channels last");
    },
    .operand_precision = [](const plan::Context& context,
                            const plan::Region& region) { return convolution_precision(context, region); },
}};

}  // namespace stitch::code
