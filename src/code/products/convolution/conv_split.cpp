// conv.split_half: convolutions over few channels on fp16 tensor cores, every number as two of fp16: FP32
// accuracy by three products, with the epilogue. Two kernels: one that keeps the part of x under a tile in
// shared memory (kernels/conv_split_halo.h), and a gathering product for the rest, such as transposed
// convolutions (kernels/conv_split.h). Offer half multiplies once, with TF32's accuracy. Chosen where PyTorch
// uses FP32 because so few channels would waste most of cuDNN's tensor cores, and where converting large
// images for cuDNN takes longer.
#include <algorithm>

#include <array>
#include <optional>

#include "base/division.h"
#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/convolution/rearranged.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// As in split_tile: elements of one part.
int64_t packed_elements(const Convolution& c) {
  int64_t filters = c.channels_out / c.groups, rows = filters >= 49 ? 64 : rounded_up(filters, 16);
  return c.groups * rounded_up(filters, rows) * rounded_up(c.channels_in / c.groups * c.taps(), 16);
}

// A convolution along z, y and x, for the halo kernel.
struct Halo {
  using Three = Convolution::Three;
  Three size_in, size_out, kernel, stride, padding, dilation;
  std::array<int64_t, 5> x, out;  // strides: sample, channel, z, y, x

  explicit Halo(const Convolution& c)
      : size_in(c.size_in),
        size_out(c.size_out),
        kernel(c.kernel),
        stride(c.stride),
        padding(c.padding),
        dilation(c.dilation),
        x(c.strides(c.x)),
        out(c.strides(c.result.view)) {}

  // Short rows under filters of one column: y and x are then one axis, with y's neighbours a row apart. Tiles
  // are 32 wide.
  bool has_short_rows() const {
    bool whole = kernel[2] == 1 && stride[2] == 1 && padding[2] == 0 && stride[1] == 1 && size_out[0] > 1;
    bool joined = x[3] == size_in[2] * x[4] && out[3] == size_out[2] * out[4];
    return whole && joined && size_out[2] < 24;
  }
  Halo with_rows_joined() const {
    Halo to = *this;
    const int64_t row = size_in[2];
    to.size_in = {1, size_in[0], size_in[1] * row};
    to.size_out = {1, size_out[0], size_out[1] * row};
    to.kernel = {1, kernel[0], kernel[1]};
    to.stride = {1, stride[0], 1};
    to.padding = {0, padding[0], padding[1] * row};
    to.dilation = {1, dilation[0], dilation[1] * row};
    for (auto* strides : {&to.x, &to.out})
      *strides = {(*strides)[0], (*strides)[1], 0, (*strides)[2], (*strides)[4]};
    return to;
  }
};

// The same numbers as HaloTile.
struct HaloSizes {
  int64_t packed, shared_bytes, blocks, slices;

  HaloSizes(const Convolution& c, const Halo& walked) {
    slices = rounded_up(c.channels_out, 64) / 64;
    int64_t filter_tiles = rounded_up(rounded_up(c.channels_out, slices) / slices, 16) / 16;
    int64_t rows = filter_tiles <= 2 ? 16 : 8, depth_rows = walked.size_out[0] > 1 ? 2 : 1;
    Halo::Three size{depth_rows, rows / depth_rows, 32}, halo{};
    int64_t quads = rounded_up(c.channels_in, 4) / 4, steps = rounded_up(c.taps() * quads, 4) / 4;
    blocks = c.batch;
    for (size_t d = 0; d < 3; ++d) {
      halo[d] = (size[d] - 1) * walked.stride[d] + (walked.kernel[d] - 1) * walked.dilation[d] + 1;
      blocks *= rounded_up(walked.size_out[d], size[d]) / size[d];
    }
    int64_t pitch = rounded_up(halo[2] + 4, 8) - 4;
    shared_bytes = halo[0] * halo[1] * pitch * quads * 16 + rounded_up(steps * 16, 128) + 8 * 16 * 40 * 4;
    packed = slices * steps * filter_tiles * 512;
  }

  // Two blocks share a multiprocessor.
  bool fit(const GpuSpec& gpu) const {
    constexpr int64_t most = int64_t{1} << 31, spare = 4 * 1024;
    return shared_bytes <= std::min(gpu.shared_per_sm / 2 - spare, gpu.shared_per_block) && blocks < most &&
           slices <= 65535;
  }
};

// The halo kernel needs contiguous x or channels.
std::optional<Halo> halo_of(const GpuSpec& gpu, const Convolution& c) {
  if (c.transposed || c.groups != 1 || c.result.scatter || c.channels_in > 16) return std::nullopt;
  const Halo plain(c);
  if (plain.has_short_rows())
    if (Halo joined = plain.with_rows_joined(); HaloSizes(c, joined).fit(gpu)) return joined;
  if (c.size_out[1] == 1 || (plain.out[4] != 1 && plain.out[1] != 1)) return std::nullopt;
  return HaloSizes(c, plain).fit(gpu) ? std::optional(plain) : std::nullopt;
}

std::string halo_struct(const Convolution& c, const Halo& halo, const std::string& name) {
  constexpr const char* axes[] = {"z", "y", "x"};
  const bool flat = halo.size_in[0] == 1 && halo.size_out[0] == 1 && halo.kernel[0] == 1 &&
                    halo.stride[0] == 1 && halo.padding[0] == 0 && halo.dilation[0] == 1;
  std::string text =
      format("struct {} {{\n  static constexpr int samples = {}, channels = {}, filters = {};\n",
             described_as(name, flat), c.batch, c.channels_in, c.channels_out);
  for (size_t d = flat ? 1 : 0; d < 3; ++d) {
    text += format("  static constexpr int size_in_{0} = {1}, size_out_{0} = {2}, kernel_{0} = {3};\n",
                   axes[d], halo.size_in[d], halo.size_out[d], halo.kernel[d]);
    text += format("  static constexpr int stride_{0} = {1}, padding_{0} = {2}, dilation_{0} = {3};\n",
                   axes[d], halo.stride[d], halo.padding[d], halo.dilation[d]);
  }
  if (!flat) text += format("  static constexpr bool flat = {};\n", halo.size_out[0] == 1);
  text += format("  static constexpr bool out_last = {};\n", halo.out[4] != 1 && halo.out[1] == 1);
  return text + stride_constants("x", halo.x, c.x.offset, flat) +
         stride_constants("out", halo.out, c.result.view.offset, flat) + "};\n";
}

// It writes any layout; NHWC offers are for images that the next region reads so.
std::vector<plan::Offer> offers_conv_split_half(const plan::Context& context, const plan::Region& region) {
  using enum plan::Arithmetic;
  const Graph& graph = context.graph;
  if (graph.type(plan::convolution_in(graph, region)->results[0]).dtype != DType::f32)
    return {{by_class, plan::Order::row_major}, {by_class, plan::Order::channels_last}};
  return {{by_class, plan::Order::row_major},
          {exact, plan::Order::row_major},
          {half, plan::Order::row_major},
          {half, plan::Order::channels_last},
          {half_exact_bias, plan::Order::channels_last}};
}

bool multiplies_once(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  return region.offer.rounds_to_half() ||
         graph.type(plan::convolution_in(graph, region)->results[0]).dtype != DType::f32;
}

plan::Rate rate_conv_split_half(const plan::Context& context, const plan::Region& region) {
  const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
  const int64_t channels = c.channels_in / c.groups, filters = c.channels_out / c.groups;
  // Warps load operands element by element: 256 channels to 208 filters reach 2 % of fp16's rate with one
  // product, 1.2 with three, 48 to 192 of 3 x 3 4 % (H200). Groups leave most of a tile empty.
  const double filled =
      std::min(1.0, static_cast<double>(channels) / 16) * std::min(1.0, static_cast<double>(filters) / 8);
  if (c.groups > 1 || channels > 16) return {0.03 * filled * context.gpu.tensor_fp16, 0.7, 1};
  // Both are guesses: neither a first layer nor one product alone was timed.
  const bool first_layer =
      multiplies_once(context, region) && region.offer.order == plan::Order::channels_last;
  return {(first_layer ? 0.2 : 0.4 / 3) * context.gpu.tensor_fp16, 0.7, 1};
}

Result<void> accepts_conv_split_half(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c, accepts_convolution(context.graph, region, {}));
  if (c.groups > 65535 || c.channels_out / c.groups > 65535 * 64)
    return not_for(region, "has no grid for so many filters");
  return {};
}

// With few channels cuDNN's tensor cores are mostly idle, and it falls back to FP32 or worse: ours gathers
// channels and taps together.
bool suits_conv_split_half(const plan::Context& context, const plan::Region& region,
                           const plan::Offer& offer) {
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Convolution c = geometry_of(graph, node);
  constexpr int64_t few_channels = 16, large = int64_t{1} << 25;
  // Large strided ones are better in cuDNN, once folded into channels.
  if (offer.rounds_to_half() || context.rounding.may_lose_bits(graph.number_of(node)))
    if (offer.arithmetic != plan::Arithmetic::exact && context.numerics != Numerics::strict &&
        folded_of(graph, c, 8) && c.taps() >= 25 && graph.type(node.results[0]).elements() >= large)
      return false;
  // First layers before NHWC images: cuDNN's tensor cores take 410 us for a ResNet's, 32 x 3 x 224², whose
  // bytes take 20 (H200).
  if (offer.order == plan::Order::channels_last)
    return c.channels_in <= 4 && c.dims >= 2 && c.taps() > 1 && c.taps() <= 49 && !c.transposed &&
           c.groups == 1;
  if (graph.type(node.results[0]).dtype != DType::f32) return false;
  if (offer.arithmetic == plan::Arithmetic::exact) return c.channels_in < few_channels && c.taps() > 1;
  if (c.transposed || c.groups != 1) return false;
  // Large NCHW results: cuDNN's gain is lost to transposition.
  if (offer.rounds_to_half())
    return c.channels_in <= few_channels && c.dims >= 2 && graph.type(node.results[0]).elements() >= large;
  // First layers: even with three products ours takes half the time of cuDNN's tensor cores.
  if (context.numerics != Numerics::strict && c.channels_in <= 4 && c.dims >= 2 && c.taps() > 1 &&
      c.taps() <= 49)
    return true;
  // Where PyTorch uses FP32.
  if (context.numerics == Numerics::strict || context.rounding.may_lose_bits(graph.number_of(node)))
    return false;
  // Measured on an H200: where ours has to gather, cuDNN's FP32 kernels are faster for many filters or few
  // taps.
  if (c.dims == 1 && (c.channels_out > 16 || c.taps() < 25)) return false;
  return c.channels_in < few_channels;
}

Result<RegionCode> write_conv_split_half(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const bool exact = !multiplies_once(request.context, request.region);
  bool last = !c.result.scatter && c.strides(c.result.view)[1] == 1 && c.channels_out > 1;
  const std::optional<Halo> halo = halo_of(request.context.gpu, c);
  std::string product = type_name(request.name, "Product"), packed = request.name + "_weight_split";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  int64_t elements = halo ? HaloSizes(c, *halo).packed : 2 * packed_elements(c);
  const std::string kernel = halo ? "conv_split_halo" : "conv_split", tile = type_name(request.name, "Halo");
  return write_kernel(
      request, out, epilogue,
      {.header = kernel + ".h",
       .summary = describe(c),
       .idea = format("{}, on fp16 tensor cores{}; kernels/{}.h has the kernel.",
                      halo ? "x is read once into shared memory" : "A product that gathers x",
                      exact ? " in pairs of fp16" : "", kernel),
       .structs = convolution_struct(c, product) + "\n" + (halo ? halo_struct(c, *halo, tile) + "\n" : ""),
       .reads = {&x},
       .packed = {{weight, packed, DType::f16, elements, "high and low parts",
                   halo ? format("pack_split_halo<{}, {}>", product, tile)
                        : format("pack_split<{}>", product)}},
       .call = halo ? format("enqueue_conv_split_halo<{}, {}>", product, exact)
                    : format("enqueue_conv_split<{}, {}>", exact, last),
       .arguments = {(halo ? tile : product) + "{}", x.pointer, packed, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_split_half{{
    .name = "conv.split_half",
    .idea = "convolutions over few channels on fp16 tensor cores, operands split in two",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_split_half,
    .write = write_conv_split_half,
    .rate = rate_conv_split_half,
    .offers = offers_conv_split_half,
    .is_exact = [](const plan::Offer& offer) { return !offer.rounds_to_half(); },
    .suits = suits_conv_split_half,
    .takes_any_order = true,
    // A warp waits every 16 of the depth: 2 to 2.6 us each for 48 to 3456 (H200).
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          constexpr double start = 2e-6, step = 2.2e-6;
          return start + step * static_cast<double>((c.channels_in / c.groups * c.taps() + 15) / 16);
        },
}};

}  // namespace stitch::code
