// conv.direct: convolutions with few channels and filters, in FP32 on the CUDA cores, exact
// (kernels/conv_direct.h), with the epilogue. On tensor cores most of a tile would be empty: conv.split_half
// takes 202 and 131 us for the two of a LeNet (4096 x 1 x 32² to 6 of 5 x 5, 6 x 14² to 16), whose products
// take 16 and 33 (H200); this takes 47 and 82. Chosen for up to 16 filters of up to 160 weights without
// strides: the first layer of a MobileNet (10 x 3 x 224² to 32 of 3 x 3, stride 2) took 28 us, and 18 by
// conv.split_half. Since then images are loaded eight elements per thread at a time; not measured.
#include <algorithm>

#include "base/text.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

constexpr int64_t few_filters = 16, most_filters = 32, most_weights = 160;

int64_t pixels_per_thread(const Convolution& c) { return c.channels_out <= few_filters ? 4 : 2; }

struct DirectTile {
  int64_t images = 1, height = 1, width = 1;
};

// As much of the images as keeps 256 threads busy, in shared memory for several blocks; empty: the filters
// are too large.
std::optional<DirectTile> direct_tile(const Convolution& c) {
  constexpr int64_t most_bytes = 32 * 1024;
  const int64_t most_pixels = 256 * pixels_per_thread(c);
  const int64_t weights = c.channels_in * c.taps() * c.channels_out;
  auto bytes = [&](const DirectTile& tile) {
    auto reach = [&](int64_t size, size_t d) {
      return (size - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1;
    };
    return 4 * (tile.images * c.channels_in * reach(tile.height, 1) * reach(tile.width, 2) + weights);
  };
  // Tiles of equal width.
  const int64_t across = (c.size_out[2] + 63) / 64;
  DirectTile tile{1, c.size_out[1], (c.size_out[2] + across - 1) / across};
  tile.height = std::min(tile.height, std::max<int64_t>(most_pixels / tile.width, 1));
  while (bytes(tile) > most_bytes && tile.height > 1) tile.height = (tile.height + 1) / 2;
  while (bytes(tile) > most_bytes && tile.width > 8) tile.width = (tile.width + 1) / 2;
  if (bytes(tile) > most_bytes) return std::nullopt;
  const bool whole = tile.height == c.size_out[1] && tile.width == c.size_out[2];
  while (whole && 2 * tile.images * tile.height * tile.width <= most_pixels && 2 * tile.images <= c.batch) {
    DirectTile more = tile;
    more.images *= 2;
    if (bytes(more) > most_bytes) break;
    tile = more;
  }
  return tile;
}

// Results of a pixel stored at once: 16 bytes in NHWC.
int64_t out_pack(const Convolution& c) {
  const auto strides = c.strides(c.result.view);
  int64_t pack = 16 / size_of(c.result.view.place->dtype);
  auto fits = [&] {
    return c.channels_out % pack == 0 && c.result.view.offset % pack == 0 && strides[0] % pack == 0 &&
           strides[3] % pack == 0 && strides[4] % pack == 0;
  };
  if (c.result.scatter || strides[1] != 1) return 1;
  while (pack > 1 && !fits()) pack /= 2;
  return pack;
}

std::string direct_struct(const Convolution& c, const DirectTile& tile, const std::string& name) {
  std::string text = layer_head(c, name);
  text += format("  static constexpr int channels = {}, filters = {};\n", c.channels_in, c.channels_out);
  text += layer_geometry(c);
  text += format(
      "  static constexpr int images = {}, tile_height = {}, tile_width = {};  // of a block\n"
      "  static constexpr int pixels = {};  // of a thread\n"
      "  static constexpr int out_pack = {};\n",
      tile.images, tile.height, tile.width, pixels_per_thread(c), out_pack(c));
  return text + layer_indices(c) + "};\n";
}

Result<void> accepts_conv_direct(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c,
             accepts_convolution(context.graph, region,
                                 {.one_group = true, .packs = false, .indexed_by_int = true}));
  if (c.dims != 2) return not_for(region, "takes convolutions of 2 dimensions");
  if (c.channels_out > most_filters) return not_for(region, "has registers for 32 filters");
  if (!direct_tile(c)) return not_for(region, "has no tile for so large a kernel");
  return {};
}

Result<RegionCode> write_conv_direct(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1, 1, nullptr, ElementBy::coordinates));
  if (!c.weight.contiguous() || c.weight.offset != 0) return not_for(request.region, "needs a dense weight");
  const auto tile = direct_tile(deciding_geometry(request, *parts.product));
  if (!tile) return not_for(request.region, "has no tile for so large a kernel");
  const std::string layer = type_name(request.name, "Layer");
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;

  return write_kernel(request, out, epilogue,
                      {.header = "conv_direct.h",
                       .summary = describe(c),
                       .idea = "Directly, on the CUDA cores; kernels/conv_direct.h has the kernel.",
                       .structs = direct_struct(c, *tile, layer) + "\n",
                       .reads = {&x, &weight},
                       .call = "enqueue_conv_direct",
                       .arguments = {layer + "{}", x.pointer, weight.pointer, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_direct{{
    .name = "conv.direct",
    .idea = "convolutions over few channels with few filters, on the CUDA cores",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_direct,
    .write = write_conv_direct,
    // Half of the cores' rate: a value of x is read from shared memory for every pack of filters.
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.5 * context.gpu.fp32, plan::streaming_share, 1};
    },
    // FP32 accuracy in every class.
    .offers = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Offer> {
      return {{plan::Arithmetic::by_class, plan::Order::row_major},
              {plan::Arithmetic::exact, plan::Order::row_major}};
    },
    .is_exact = [](const plan::Offer&) { return true; },
    .suits =
        [](const plan::Context& context, const plan::Region& region, const plan::Offer&) {
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          return c.channels_out <= few_filters && c.channels_in * c.taps() <= most_weights && c.taps() > 1 &&
                 c.stride == Convolution::Three{1, 1, 1};
        },
    .takes_any_order = true,
}};

}  // namespace stitch::code
