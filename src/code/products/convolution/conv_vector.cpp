// conv.vector: 1 x 1 convolutions over at most 12 pixels in total, as after a global pool: filters times as
// many vectors, bound by reading the filters (kernels/matmul_vector.h). A library's tiles would be mostly
// empty: cuDNN took 5 us for each of EfficientNet-B2's, and often a second kernel (H200). Exact in all
// classes.
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "code/products/recurrence/vector_teams.h"

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

class ConvVector final : public ProductTechnique {
 public:
  std::string_view name() const override { return "conv.vector"; }
  std::string_view idea() const override {
    return "1x1 convolutions over one to twelve pixels, at the bandwidth of reading the filters";
  }
  plan::Kind kind() const override { return plan::Kind::convolution; }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return streaming_rate(context);
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> ConvVector::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  Convolution c = geometry_of(graph, node);
  if (graph.type(node.results[0]).dtype != DType::f32) return not_for(region, "takes convolutions of f32");
  if (c.transposed || c.groups > 1) return not_for(region, "has no groups and no transposed convolutions");
  if (graph.type(node.results[0]).elements() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  for (size_t d = 0; d < 3; ++d)
    if (c.kernel[d] != 1 || c.padding[d] != 0)
      return not_for(region, "has kernels of one pixel only, without padding");
  if (c.batch * c.positions() > most_pixels || c.channels_in > most_channels)
    return not_for(region, format("takes at most {} pixels and {} channels", most_pixels, most_channels));
  return {};
}

Result<RegionCode> ConvVector::write_region(const RegionRequest& request) const {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  for (const Place* place : {&x, &weight, &out})
    if (place->dtype != DType::f32) return not_for(request.region, "reads and writes f32 only");
  RegionCode code;
  code.includes = "#include \"stitch/kernels/matmul_vector.h\"\n";
  Signature signature("enqueue_" + request.name);
  signature.read(weight);
  signature.read(x);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = signature.declaration();
  std::string product = type_name(request.name, "Product");
  const int64_t pixels = c.batch * c.positions(), together = pixels <= 4 ? 4 : 2;
  const int teams = vector_teams(request.context.gpu, c.channels_in, size_of(weight.dtype),
                                 (c.channels_out + together - 1) / together);
  code.source = format(
      "// {}{}{}\n// Filters times {} vectors: filters are read once; kernels/matmul_vector.h has the "
      "kernel.\n{}\n",
      describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary, c.batch * c.positions(),
      convolution_struct(c, product));
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format(
      "{} {{\n  return stitch::enqueue_vector_product<{}, false, true, {}, {}, {}>(\n      \"{}\", {}, {}, "
      "nullptr, {}, {}, stream);\n}}\n",
      signature.head(), product, most_channels, teams, lies_in_quads(c), request.name, weight.pointer,
      x.pointer, out.pointer, epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

const Technique& conv_vector() {
  static const ConvVector technique;
  return technique;
}

}  // namespace stitch::code
