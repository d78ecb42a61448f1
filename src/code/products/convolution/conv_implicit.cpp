// conv.implicit: convolutions and transposed convolutions of NCHW images as implicit GEMMs on fp16 tensor
// cores (kernels/conv_implicit.h), with the epilogue and a pool after it: images are read and written once in
// their layout, and the pool's input is never written. Offer half: one product, with TF32's ten bits;
// otherwise three, with FP32 accuracy. Chosen if a pool follows few channels that PyTorch convolves in FP32,
// and in fp16 if a library's layout conversions take longer than its convolution.
#include <algorithm>

#include "base/text.h"
#include "code/products/convolution/tiles.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// Shares of the tensor cores' rate and of the copy bandwidth on an H200: 1.37 ms for 128 x 64 x 128² to 128
// filters of 3 x 3 in fp16 (cuDNN with its transposed copies 1.11), 5.6 ms for 16 x 16 x 1024² to 128 (6.2),
// 1.78 ms for 128 x 64 x 64² to 128 transposed of 4 x 4, stride 2 (1.23). Results are written in rows of 32
// pixels, unaligned to sectors; phases write every second pixel (docs/results.md).
constexpr double tensor_share = 0.3, memory_share = 0.43, phases_share = 0.5;

// A GELU isn't hidden: 1.76 ms for 64 x 64 x 256² to 64 filters with one after it, where cuDNN with
// transposed copies takes 1.56.
constexpr double gelu_costs = 1.25;
bool has_gelu(const Graph& graph, const plan::Region& region) {
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Op op = graph.node(n).op;
    return op == Op::gelu || op == Op::erf || op == Op::mish;
  });
}

// Its result is the pool's.
Result<Convolution> pooled_convolution(const RegionRequest& request, const Parts& parts) {
  Convolution out = geometry_of(request.graph, *parts.product);
  auto x = find_view(request, parts.product->operands[0]),
       weight = find_view(request, parts.product->operands[1]);
  if (!x || !weight) return not_for(request.region, "can't read its operands where they lie");
  out.x = *x;
  out.weight = *weight;
  out.result = {view_of(request.writes[0]), {}};
  return out;
}

double useful_products(const Convolution& c) {
  const Convolution::Three& over = c.transposed ? c.size_in : c.size_out;
  return static_cast<double>(c.batch * over[0] * over[1] * over[2] * c.taps() * c.channels_in *
                             c.channels_out);
}

// FLOP/s of the convolution itself.
double rate_of(const plan::Context& context, const Convolution& c, bool exact,
               const std::optional<PooledConvolution>& pooled) {
  const auto walked = implicit_of(context.gpu, c, exact, pooled);
  if (!walked) return 0.01 * context.gpu.tensor_fp16;
  const double share = std::min(1.0, useful_products(c) / walked->products);
  return tensor_share * context.gpu.tensor_fp16 * share / (exact ? 3 : 1);
}

double bandwidth_of(const Convolution& c) {
  return c.transposed && c.stride != Convolution::Three{1, 1, 1} ? phases_share * memory_share : memory_share;
}

Result<void> accepts_conv_implicit(const plan::Context& context, const plan::Region& region) {
  const auto pooled = pooled_of(context.graph, region);
  STITCH_TRY(const Convolution c,
             accepts_convolution(context.graph, pooled ? pooled->without : region, {.only_f32 = true}));
  constexpr int64_t most = int64_t{1} << 31;
  if (c.channels_in * c.positions_in() >= most || c.channels_out * c.positions() >= most)
    return not_for(region, "has no images of 2^31 elements");
  if (!implicit_of(context.gpu, c, !region.offer.rounds_to_half(), pooled))
    return not_for(region, "has no tile for its groups, dilation or size");
  return {};
}

bool suits_conv_implicit(const plan::Context& context, const plan::Region& region, const plan::Offer& offer) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Convolution c = geometry_of(graph, node);
  const GpuSpec& gpu = context.gpu;
  const bool exact = !offer.rounds_to_half();
  const auto pooled = pooled_of(graph, region);
  const auto walked = implicit_of(gpu, c, exact, pooled);
  if (!walked || walked->blocks < 2 * gpu.sms) return false;
  if (exact) {
    // Where PyTorch uses FP32 over few channels, and a pool leaves little to write: 2.6 ms for 128 x 8 x 384²
    // to 64 filters of 3 x 3 and a mean of 4 x 4 (conv.split_half 3.2, and 1.3 for the pool), but 1.9 for
    // 256² and a GELU (1.5) on an H200.
    if (offer.arithmetic != plan::Arithmetic::exact &&
        (context.numerics == Numerics::strict || context.rounding.may_lose_bits(graph.number_of(node))))
      return false;
    const bool first_layer = c.channels_in <= 4 && c.stride != Convolution::Three{1, 1, 1};
    return pooled && !c.transposed && c.dims >= 2 && c.channels_in < 16 && !first_layer;
  }
  if (walked->blocks < 4 * gpu.sms) return false;  // a tile's loads and stores overlap with others
  if (c.taps() == 1) return false;                 // a product: others are better
  const auto in = static_cast<double>(graph.type(node.operands[0]).elements()),
             out = static_cast<double>(graph.type(node.results[0]).elements());
  const double flops = 2 * useful_products(c), bandwidth = plan::streaming_share * gpu.bandwidth;
  const double written = pooled ? static_cast<double>(graph.type(pooled->pool->results[0]).elements()) : out;
  const double here = (has_gelu(graph, region) ? gelu_costs : 1) *
                      std::max(flops / rate_of(context, c, false, pooled),
                               4 * (in + written) / (bandwidth_of(c) * gpu.bandwidth));
  // A library's convolution, with FP32 images converted to fp16 NHWC and back. Transposed ones of few
  // channels reach 172 TFLOP/s in cuDNN (Level 2's 13, H200).
  const double library = (c.transposed && c.channels_in <= 16 ? 0.3 : 1) * gpu.fp16_convolutions;
  const double there = std::max(flops / library, 2 * (in + out) / bandwidth) + 6 * (in + out) / bandwidth;
  return here < there;
}

Result<RegionCode> write_conv_implicit(const RegionRequest& request) {
  const auto pooled = pooled_of(request.graph, request.region);
  STITCH_TRY(Parts parts,
             parts_of(request.graph, pooled ? pooled->without : request.region, convolution_ops));
  STITCH_TRY(Convolution c, pooled ? pooled_convolution(request, parts) : convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1, 1, nullptr, ElementBy::coordinates));
  const bool exact = !request.region.offer.rounds_to_half();
  const auto decided =
      implicit_of(request.deciding().context.gpu, deciding_geometry(request, *parts.product), exact, pooled);
  if (!decided) return not_for(request.region, "has no tile for it");
  const ImplicitConvolution walked = with_tile_of(*decided, c, exact);
  const std::string image = type_name(request.name, "Image"), packed = request.name + "_weight_steps";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  if (pooled)
    epilogue.summary += (epilogue.summary.empty() ? "" : ", ") + std::string(info(pooled->pool->op).name);
  return write_kernel(
      request, out, epilogue,
      {.header = "conv_implicit.h",
       .summary = describe(c),
       .idea = format("An implicit GEMM on fp16 tensor cores{}; kernels/conv_implicit.h has it.",
                      exact ? ", in pairs of fp16" : ""),
       .structs = implicit_struct(c, walked, image) + "\n",
       .reads = {&x},
       .packed = {{weight, packed, DType::f16, walked.packed, "octets of channels, as steps take them",
                   format("pack_implicit<{}, {}>", image, exact)}},
       .call = format("enqueue_conv_implicit<{}>", exact),
       .arguments = {image + "{}", x.pointer, packed, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_implicit{{
    .name = "conv.implicit",
    .idea = "convolutions over NCHW images on fp16 tensor cores, without transposes",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_implicit,
    .write = write_conv_implicit,
    .rate = [](const plan::Context& context, const plan::Region& region) -> plan::Rate {
      const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
      const double rate =
          rate_of(context, c, !region.offer.rounds_to_half(), pooled_of(context.graph, region));
      return {rate, bandwidth_of(c), 1};
    },
    .offers = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Offer> {
      using enum plan::Arithmetic;
      return {{by_class, plan::Order::row_major},
              {exact, plan::Order::row_major},
              {half, plan::Order::row_major}};
    },
    .is_exact = [](const plan::Offer& offer) { return !offer.rounds_to_half(); },
    .suits = suits_conv_implicit,
    .takes_any_order = true,
}};

}  // namespace stitch::code
