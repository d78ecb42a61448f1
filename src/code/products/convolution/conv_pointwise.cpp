// conv.pointwise: a 1 x 1 convolution as a product, for every sample and group
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// directly on NCHW images (kernels/conv_pointwise.h): on tensor cores in TF32, x read and the result written
// once, with bias and epilogue. Offer exact multiplies at FP32 accuracy, as in class strict. Chosen if such
// an image stays NCHW in FP32: on an H200 cuDNN takes 3.7 ms for 16 x 64 x 512² to 128 filters, whose bytes
// take 0.75. NHWC images go to cuBLASLt (conv_pointwise_library.cpp): for groups, which cuDNN copies one by
// one, for very large images, and in fp16 if cuBLASLt supports the epilogue.
#include <algorithm>

#include "base/division.h"
#include "code/products/convolution/convolution.h"

#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/tiles.h"
#include "code/products/kernel_region.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// The same numbers as PointwiseTile.
struct TileSizes {
  int64_t slices, packed, units;

  TileSizes(const Convolution& c, bool exact) {
    int64_t filter_tiles = rounded_up(c.channels_out / c.groups, 16) / 16;
    slices = rounded_up(filter_tiles, 8) / 8;
    packed = c.groups * rounded_up(c.channels_in / c.groups, 8) / 8 * rounded_up(filter_tiles, slices) * 128 *
             (exact ? 2 : 1);
    units = c.batch * c.groups * rounded_up(c.positions(), 32) / 32;
  }
};

// Independent warps hide more latency, but each reads all weights of its filters: they run in step if those
// would fill L1 and there are enough of them for blocks as large as a multiprocessor.
bool keeps_step(const Convolution& c, const TileSizes& sizes, const RegionRequest& request) {
  constexpr int64_t most_weight_bytes = 96 << 10, most_warps = 16;
  const bool pays = sizes.packed / c.groups * 4 > most_weight_bytes &&
                    sizes.units * sizes.slices >= request.context.gpu.sms * most_warps;
  return request.region.choice("together", pays) == 1;
}

// Whether every four pixels of the result are contiguous, and 16-byte aligned if it is.
bool lies_in_quads(const Convolution& c) {
  const View& out = c.result.view;
  if (out.place->dtype != DType::f32 || c.positions() % 4 != 0) return false;
  Index within = Index::variable("within", 4),
        position = Index::variable("quad", element_count(out.shape) / 4) * 4 + within;
  Index at = c.result.scatter
                 ? c.result.scatter(position)
                 : code::position(unflatten(position, out.shape), out.strides) + Index(out.offset);
  Index first = at - within;
  return !first.appears("within") && first.divisible_by(4);
}

std::string planes_struct(const Convolution& c, const std::string& name, bool in_step) {
  bool x_planes = c.x.place->dtype == DType::f32 && dense_nchw(c.x) && c.x.offset == 0;
  bool out_planes = !c.result.scatter && dense_nchw(c.result.view) && c.result.view.offset == 0;
  return format(
      "struct {} {{  // of one group\n"
      "  static constexpr int samples = {}, groups = {}, channels = {}, filters = {};\n"
      "  static constexpr int64_t pixels = {};\n"
      "  static constexpr bool x_in_quads = {}, out_in_quads = {}, out_in_planes = {}, in_step = {};\n}};\n",
      name, c.batch, c.groups, c.channels_in / c.groups, c.channels_out / c.groups, c.positions(),
      x_planes && c.positions() % 4 == 0, lies_in_quads(c), out_planes, in_step);
}

Result<void> accepts_conv_pointwise(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c, accepts_convolution(context.graph, region,
                                                      {.only_f32 = true, .one_tap = true, .strides = false}));
  if (c.transposed) return not_for(region, "has no transposed convolutions");
  int64_t slices = rounded_up(c.channels_out / c.groups, 128) / 128;
  if (c.batch * c.groups * rounded_up(c.positions(), 32) / 128 * slices >= (int64_t{1} << 31) - slices)
    return not_for(region, "has no grid for so many pixels");
  return {};
}

bool has_bias(const Node& node) { return node.operands.size() > 2 && node.operands[2] != ValueId::none; }

// NHWC products at which cuDNN is slow: it copies every group out of the image and back, 40 % of a
// ShuffleNet's time; and from 1 GiB on it uses a kernel six times as slow (2.6 ms for 128 x 32 x 256² to 64
// filters on an H200). cuBLASLt takes them if every group is 16-byte aligned.
bool stays_product(const Graph& graph, const plan::Region& region) {
  const Node& node = *plan::convolution_in(graph, region);
  const int64_t groups = node.attributes.integer("groups"), filters = graph.type(node.results[0]).shape[1];
  const bool alone = std::ranges::all_of(region.nodes, [&](int32_t n) {
    const Op op = graph.node(n).op;
    return plan::is_convolution(op) || op == Op::relu;
  });
  if (!alone || has_bias(node) || plan::channels_per_group(graph, node) % 8 != 0 || filters / groups % 8 != 0)
    return false;
  constexpr int64_t large = int64_t{1} << 29;  // of two bytes each
  return groups > 1 || graph.type(node.results[0]).elements() >= large;
}

// conv.pointwise_nhwc includes the gate of a squeeze-and-excite.
bool is_gated(const Graph& graph, ValueId x) {
  const auto made = std::ranges::find_if(graph.nodes, [&](const Node& node) { return node.results[0] == x; });
  if (made == graph.nodes.end() || made->op != Op::mul) return false;
  return std::ranges::any_of(made->operands, [&](ValueId id) {
    const TensorType& type = graph.type(id);
    return type.rank() > 2 && std::ranges::all_of(type.shape.begin() + 2, type.shape.end(),
                                                  [](int64_t extent) { return extent == 1; });
  });
}

// One fp16 product of NHWC images, with a bias and ReLU in cuBLASLt's epilogue: it has less latency than
// cuDNN and conv.pointwise_nhwc (H200: 10 x 192 x 7² to 1152 filters 4.4, 6.2 and 7.3 us; 10 x 480 x 14² to
// 112 4.9, 4.9 and 6.6; 16 x 256 x 56² to 208 17, 22 and 47). The last is faster for few channels and filters
// (48 x 112² to 32: 4.6, 4.6 and 4.3).
bool suits_cublaslt(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Convolution c = geometry_of(graph, node);
  const bool alone = std::ranges::all_of(region.nodes, [&](int32_t n) {
    const Op op = graph.node(n).op;
    return plan::is_convolution(op) || op == Op::relu;
  });
  if (!alone || c.groups > 1 || c.positions() == 1 || c.channels_in % 8 != 0 || c.channels_out % 8 != 0)
    return false;
  if (is_gated(graph, node.operands[0])) return false;
  const double elements =
      static_cast<double>(graph.type(node.operands[0]).elements() + graph.type(node.results[0]).elements());
  const double memory = 2 * elements / (plan::streaming_share * context.gpu.bandwidth),
               products = cost(graph, node).matrix_flops;
  constexpr double start = 2.7e-6, small = 10e-6;
  const double library = start + std::max(memory, products / context.gpu.fp16_convolutions);
  double own =
      nhwc_seconds(context, c.batch * c.positions(), c.channels_in, c.channels_out, DType::f16, false);
  // For large images it is bound by conv.pointwise_nhwc's rate.
  if (own > small) own = std::max(memory, products / (0.2 * context.gpu.tensor_fp16));
  constexpr double sure = 0.85;  // both are estimates, off by 10 to 20 % from measured times
  return library < sure * own;
}

std::vector<plan::Offer> offers_conv_pointwise(const plan::Context& context, const plan::Region& region) {
  using plan::Arithmetic, plan::Order;
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const bool exact = !context.rounding.may_lose_bits(graph.number_of(node));
  std::vector<plan::Offer> out = {{exact ? Arithmetic::exact : Arithmetic::by_class, Order::row_major},
                                  {exact ? Arithmetic::by_class : Arithmetic::exact, Order::row_major}};
  if (geometry_of(graph, node).depthwise()) return out;
  if (!stays_product(graph, region)) {
    if (!suits_cublaslt(context, region)) return out;
    out.push_back({Arithmetic::half, Order::channels_last});
    // It rounds a bias to the image's type.
    if (!has_bias(node)) out.push_back({Arithmetic::half_exact_bias, Order::channels_last});
    return out;
  }
  for (Arithmetic arithmetic :
       {Arithmetic::by_class, Arithmetic::exact, Arithmetic::half, Arithmetic::half_exact_bias})
    out.push_back({arithmetic, Order::channels_last});
  return out;
}

// Products that need no transposition, in TF32 if allowed, otherwise at FP32 accuracy. Four pixels at a time:
// elsewhere cuDNN is better. Steps that choose NHWC may return to cuDNN.
bool suits_conv_pointwise(const plan::Context& context, const plan::Region& region,
                          const plan::Offer& offer) {
  if (offer.order == plan::Order::channels_last) return true;  // offered only if it suits
  if (context.numerics == Numerics::half && conv_cudnn.accepts(context, region)) return false;
  const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
  const int64_t pixels = c.positions(), channels = c.channels_in / c.groups;
  // Tensor cores truncate sums: deep ones lose visibly compared to FP32.
  return pixels >= 16 && pixels % 4 == 0 && channels >= 4 &&
         (offer.arithmetic != plan::Arithmetic::exact || channels <= 1024);
}

// In NHWC a library's, except for groups.
bool gives_way_conv_pointwise(const plan::Context& context, const plan::Region& region) {
  return plan::convolution_in(context.graph, region)->attributes.integer("groups") == 1;
}

// It doesn't transpose NHWC.
Result<void> accepts_storage_conv_pointwise(const plan::Context& context, const plan::Plan& plan,
                                            const plan::Region& region) {
  if (region.offer.order == plan::Order::row_major) return {};
  const ValueId x = plan::convolution_in(context.graph, region)->operands[0], out = region.writes[0];
  const bool typed =
      stays_product(context.graph, region) ||
      (plan.storage[index_of(x)].dtype == DType::f16 && plan.storage[index_of(out)].dtype == DType::f16);
  if (typed && plan::is_channels_last(context.graph, plan, x) &&
      plan::is_channels_last(context.graph, plan, out))
    return {};
  return not_for(region, "reads and writes channels last, both in one type");
}

Result<RegionCode> write_conv_pointwise(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const bool exact = request.context.numerics == Numerics::strict ||
                     request.region.offer.arithmetic == plan::Arithmetic::exact;

  if (auto last = pointwise_last_epilogue(request, parts, c))
    return write_pointwise_last(request, c, *last, epilogue.summary, exact);

  if (!exact && suits_library(request, c, epilogue)) return write_pointwise_library(request, c);

  // Sums may start with the bias, if nothing else follows.
  auto library = library_epilogue_of(request, parts, 1);
  bool starts = library && library->activation == LibraryEpilogue::none && library->bias &&
                library->bias->place->dtype == DType::f32;
  std::string product = type_name(request.name, "Product"), planes = type_name(request.name, "Planes"),
              packed = request.name + "_weight_packed";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  TileSizes sizes(c, exact);
  KernelRegion region{.header = "conv_pointwise.h",
                      .summary = describe(c) + epilogue.then(),
                      .idea = format("A product a sample{}, in {}; kernels/conv_pointwise.h has the kernel.",
                                     c.groups > 1 ? " and group" : "", exact ? "pairs of TF32" : "TF32"),
                      .structs = convolution_struct(c, product) + "\n" +
                                 planes_struct(c, planes, keeps_step(c, sizes, request)) + "\n",
                      .reads = {&x},
                      .packed = {{weight, packed, DType::f32, sizes.packed, "operands as lanes take them",
                                  format("pack_pointwise<{}, {}, {}>", product, planes, exact)}},
                      .call = format("enqueue_pointwise<{}>", exact),
                      .arguments = {product + "{}", planes + "{}", x.pointer, packed,
                                    starts ? library->bias->place->pointer : "nullptr", out.pointer}};
  if (starts) {
    region.reads.push_back(library->bias->place);
    epilogue = {};
  }
  epilogue.summary.clear();
  return write_kernel(request, out, epilogue, region);
}

}  // namespace

constinit const ProductTechnique conv_pointwise{{
    .name = "conv.pointwise",
    .idea = "1x1 convolutions over NCHW images: a TF32 product at memory bandwidth",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_pointwise,
    .write = write_conv_pointwise,
    .rate = [](const plan::Context& context, const plan::Region& region) -> plan::Rate {
      const GpuSpec& gpu = context.gpu;
      if (region.offer.rounds_to_half()) return {0.7 * gpu.tensor_fp16, plan::streaming_share, 1};
      return {0.4 * gpu.tensor_tf32 / (region.offer.arithmetic == plan::Arithmetic::exact ? 3 : 1),
              plan::streaming_share, 1};
    },
    .offers = offers_conv_pointwise,
    .suits = suits_conv_pointwise,
    .gives_way = gives_way_conv_pointwise,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {proposal_knob(),
              {"together", "1: the warps of a block run in step, and share the weights in L1", {0, 1}},
              {"library", "1: use cuBLASLt, where there is no epilogue", {0, 1}}};
    },
    .accepts_storage = accepts_storage_conv_pointwise,
    .has_free_epilogue = false,
    // A warp waits for weights every eight channels: 24 us for 16 x 184 x 14² to 80 filters, 42 for 672
    // channels to 112, 10 for 120 x 28² to 40 (H200).
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          if (region.offer.order == plan::Order::channels_last) return 0.0;
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          constexpr double start = 4e-6, step = 0.45e-6;
          return start + step * static_cast<double>(rounded_up(c.channels_in / c.groups, 8) / 8);
        },
    .operand_precision = [](const plan::Context& context,
                            const plan::Region& region) { return convolution_precision(context, region); },
}};

}  // namespace stitch::code
