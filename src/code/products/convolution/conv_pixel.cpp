// conv.pixel: 1 x 1 convolutions of single-pixel images, as in squeeze-and-excite after its pool, with the
// epilogue and in any type (kernels/conv_pixel.h). Exact in all classes. Chosen where launching a library's
// kernels would dominate: cuDNN takes 5 us and a second kernel for the epilogue (H200).
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

class ConvPixel final : public ProductTechnique {
 public:
  std::string_view name() const override { return "conv.pixel"; }
  std::string_view idea() const override {
    return "1x1 images: a few warps for four filters of four samples";
  }
  plan::Kind kind() const override { return plan::Kind::convolution; }
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override {
    constexpr int64_t most_products = int64_t{1} << 24;
    const Convolution c = geometry_of(context.graph, *plan::convolution_in(context.graph, region));
    return c.batch * c.channels_out * c.channels_in <= most_products;
  }
  bool is_exact(const plan::Offer&) const override { return true; }
  bool takes_any_order() const override { return true; }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.2 * context.gpu.fp32, 0.5, 1};
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> ConvPixel::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  const Convolution c = geometry_of(graph, node);
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "has no convolutions of f64");
  if (c.transposed || c.groups > 1) return not_for(region, "has no groups and no transposed convolutions");
  if (graph.type(node.results[0]).elements() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  if (c.positions() > 1 || c.taps() > 1) return not_for(region, "takes images of one pixel");
  for (size_t d = 0; d < 3; ++d)
    if (c.padding[d] != 0) return not_for(region, "has no padding");
  constexpr int64_t most = int64_t{1} << 30;
  if (c.batch * c.channels_out > most || c.batch * c.channels_in > most)
    return not_for(region, "has no grid for so many filters");
  return {};
}

Result<RegionCode> ConvPixel::write_region(const RegionRequest& request) const {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pixel.h\"\n";
  Signature signature("enqueue_" + request.name);
  signature.read(weight);
  signature.read(x);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = signature.declaration();
  const std::string product = type_name(request.name, "Product");
  code.source = format(
      "// {}{}{}\n// A few warps for four filters of four samples; kernels/conv_pixel.h has the "
      "kernel.\n{}\n",
      describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary,
      convolution_struct(c, product));
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source +=
      format("{} {{\n  return stitch::enqueue_conv_pixel<{}>(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
             signature.head(), product, request.name, weight.pointer, x.pointer, out.pointer,
             epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

const Technique& conv_pixel() {
  static const ConvPixel technique;
  return technique;
}

}  // namespace stitch::code
