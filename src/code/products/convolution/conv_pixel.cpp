// conv.pixel: 1 x 1 convolutions of single-pixel images, as in squeeze-and-excite after its pool, with the
// epilogue and in any type (kernels/conv_pixel.h). Exact in all classes. Chosen where launching a library's
// kernels would dominate: cuDNN takes 5 us and a second kernel for the epilogue (H200).
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

Result<void> accepts_conv_pixel(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c, accepts_convolution(context.graph, region,
                                                      {.one_group = true, .one_tap = true, .packs = false}));
  if (c.positions() > 1) return not_for(region, "takes images of one pixel");
  constexpr int64_t most = int64_t{1} << 30;
  if (c.batch * c.channels_out > most || c.batch * c.channels_in > most)
    return not_for(region, "has no grid for so many filters");
  return {};
}

Result<RegionCode> write_conv_pixel(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  const std::string product = type_name(request.name, "Product");
  return write_kernel(
      request, out, epilogue,
      {.header = "conv_pixel.h",
       .summary = describe(c),
       .idea = "A few warps for four filters of four samples; kernels/conv_pixel.h has the kernel.",
       .structs = convolution_struct(c, product) + "\n",
       .reads = {&weight, &x},
       .call = "enqueue_conv_pixel",
       .arguments = {product + "{}", weight.pointer, x.pointer, out.pointer}});
}

}  // namespace

constinit const ProductTechnique conv_pixel{{
    .name = "conv.pixel",
    .idea = "1x1 images: a few warps for four filters of four samples",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_pixel,
    .write = write_conv_pixel,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.2 * context.gpu.fp32, 0.5, 1};
    },
    .is_exact = [](const plan::Offer&) { return true; },
    .suits =
        [](const plan::Context& context, const plan::Region& region, const plan::Offer&) {
          constexpr int64_t most_products = int64_t{1} << 24;
          const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
          return c.batch * c.channels_out * c.channels_in <= most_products;
        },
    .takes_any_order = true,
}};

}  // namespace stitch::code
