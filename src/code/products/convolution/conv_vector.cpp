// conv.vector: 1 x 1 convolutions over at most 12 pixels in total, as after a global pool: filters times as
// many vectors, bound by reading the filters (kernels/matmul_vector.h). A library's tiles would be mostly
// empty: cuDNN took 5 us for each of EfficientNet-B2's, and often a second kernel (H200). Exact in all
// classes.
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/matmul/product_size.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

constexpr int64_t most_pixels = 12, most_channels = 8192;

// Whether filters and vectors have contiguous channels, by fours.
bool lies_in_quads(const Convolution& c) {
  const auto strides = c.strides(c.x);
  const bool one_sample = c.batch == 1, one_pixel = c.positions() == 1;
  return c.channels_in % 4 == 0 && c.weight.contiguous() && c.weight.offset % 4 == 0 && c.x.offset % 4 == 0 &&
         strides[1] == 1 && (one_sample || strides[0] % 4 == 0) && one_pixel;
}

Result<void> accepts_conv_vector(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c,
             accepts_convolution(context.graph, region,
                                 {.only_f32 = true, .one_group = true, .one_tap = true, .packs = false}));
  if (c.batch * c.positions() > most_pixels || c.channels_in > most_channels)
    return not_for(region, format("takes at most {} pixels and {} channels", most_pixels, most_channels));
  return {};
}

Result<RegionCode> write_conv_vector(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  for (const Place* place : {&x, &weight, &out})
    if (place->dtype != DType::f32) return not_for(request.region, "reads and writes f32 only");
  const std::string product = type_name(request.name, "Product");
  const int64_t pixels = c.batch * c.positions(), together = pixels <= 4 ? 4 : 2;
  const int teams = vector_teams(request.context.gpu, c.channels_in, size_of(weight.dtype),
                                 (c.channels_out + together - 1) / together);
  return write_kernel(
      request, out, epilogue,
      {.header = "matmul_vector.h",
       .summary = describe(c),
       .idea =
           format("Filters times {} vectors: filters are read once; kernels/matmul_vector.h has the kernel.",
                  pixels),
       .structs = convolution_struct(c, product) + "\n",
       .reads = {&weight, &x},
       .call = format("enqueue_vector_product<false, {}, true, {}, 1, {}, {}>", pixels, most_channels, teams,
                      lies_in_quads(c)),
       .arguments = {product + "{}", weight.pointer, x.pointer, "nullptr", out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_vector{{
    .name = "conv.vector",
    .idea = "1x1 convolutions over one to twelve pixels, at the bandwidth of reading the filters",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_vector,
    .write = write_conv_vector,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return streaming_rate(context);
    },
}};

}  // namespace stitch::code
