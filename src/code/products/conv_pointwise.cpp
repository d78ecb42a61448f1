// conv.pointwise: a convolution whose kernel is one pixel is a product, for every sample and group
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// which images channels first need not be turned for (kernels/conv_pointwise.h): on tensor cores in TF32, x
// read and the result written once, bias and epilogue included. settings: exact = 1 multiplies at FP32's
// accuracy, as class strict does; together = 0 or 1 says whether warps keep step; library = 0 or 1 whether
// cuBLASLt multiplies (conv_pointwise_library.cpp). Chosen where such an image
// stays channels first in FP32: on an H200 cuDNN takes 3.7 ms for 16 x 64 x 512² to 128 filters, whose bytes
// take 0.75. Images channels last are cuBLASLt's (conv_pointwise_last.cpp): chosen there for groups, which
// cuDNN copies one by one, and for very large ones.
#include "code/products/conv_pointwise.h"

#include "base/text.h"
#include "code/names.h"
#include "code/products/families.h"
#include "code/products/signature.h"

namespace stitch::code {

namespace {

int64_t rounded_up(int64_t count, int64_t by) { return (count + by - 1) / by * by; }

// What PointwiseTile computes, in the same names.
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

// Warps that go their own ways hide more, but each reads all weights of its filters: they keep step where
// those would fill L1, and there are enough of them for blocks as large as a multiprocessor.
bool keeps_step(const Convolution& c, const TileSizes& sizes, const plan::Region& region) {
  if (auto set = region.settings.find("together"); set != region.settings.end()) return set->second == 1;
  constexpr int64_t most_weight_bytes = 96 << 10, multiprocessors = 132, most_warps = 16;
  return sizes.packed / c.groups * 4 > most_weight_bytes &&
         sizes.units * sizes.slices >= multiprocessors * most_warps;
}

// Every four pixels of the result lie side by side in memory, and at 16 bytes if it does.
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

std::string planes_struct(const Convolution& c, const std::string& name, bool together) {
  bool x_planes = c.x.place->dtype == DType::f32 && dense_nchw(c.x) && c.x.offset == 0;
  bool out_planes = !c.result.scatter && dense_nchw(c.result.view) && c.result.view.offset == 0;
  return format(
      "struct {} {{  // of one group\n"
      "  static constexpr int samples = {}, groups = {}, channels = {}, filters = {};\n"
      "  static constexpr int64_t pixels = {};\n"
      "  static constexpr bool x_in_quads = {}, out_in_quads = {}, out_in_planes = {}, together = {};\n}};\n",
      name, c.batch, c.groups, c.channels_in / c.groups, c.channels_out / c.groups, c.positions(),
      x_planes && c.positions() % 4 == 0, lies_in_quads(c), out_planes, together);
}

}  // namespace

Result<void> accepts_conv_pointwise(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  Convolution c = geometry_of(graph, node);
  if (graph.type(node.results[0]).dtype != DType::f32) return not_for(region, "takes convolutions of f32");
  if (c.transposed) return not_for(region, "has no transposed convolutions");
  if (graph.type(node.results[0]).elements() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  if (!graph[node.operands[1]].has_data()) return not_for(region, "packs its weight once");
  for (size_t d = 0; d < 3; ++d)
    if (c.kernel[d] != 1 || c.stride[d] != 1 || c.padding[d] != 0)
      return not_for(region, "has kernels of one pixel only, without strides or padding");
  int64_t slices = rounded_up(c.channels_out / c.groups, 128) / 128;
  if (c.batch * c.groups * rounded_up(c.positions(), 32) / 128 * slices >= (int64_t{1} << 31) - slices)
    return not_for(region, "has no grid for so many pixels");
  return {};
}

Result<RegionCode> write_conv_pointwise(const RegionRequest& request) {
  STITCH_CHECK(accepts_conv_pointwise(request.graph, request.region));
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  auto setting = request.region.settings.find("exact");
  bool exact =
      request.numerics == "strict" || (setting != request.region.settings.end() && setting->second == 1);

  if (auto last = pointwise_last_epilogue(request, parts, c))
    return write_pointwise_last(request, c, *last, epilogue.summary, exact);

  if (!exact && suits_library(request, c, epilogue)) return write_pointwise_library(request, c);

  // Sums may start with the bias, if nothing else follows.
  std::string bias = "nullptr", functor = "stitch::NoEpilogue{}";
  auto library = library_epilogue_of(request, parts, 1);
  bool starts = library && library->activation == LibraryEpilogue::none && library->bias &&
                library->bias->place->dtype == DType::f32;
  if (starts)
    bias = library->bias->place->pointer;
  else if (!epilogue.empty())
    functor = epilogue.construct;

  std::string product = type_name(request.name, "Product"), planes = type_name(request.name, "Planes"),
              packed = request.name + "_weight_packed";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  TileSizes sizes(c, exact);
  int64_t elements = sizes.packed;
  std::string comment = format("({}): operands as lanes take them", elements);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pointwise.h\"\n";
  const std::string function = "pack_" + request.name;
  code.packed.push_back(
      packed_memory(packed, DType::f32, elements, PackCall{function, {weight.pointer, packed}}));
  Signature pack(function), signature("enqueue_" + request.name);
  pack.read(weight);
  pack.add(Signature::writes, "float*", "packed", comment);
  signature.read(x);
  signature.packed(code.packed.back(), comment);
  if (starts) signature.read(*library->bias->place);
  if (!starts)
    for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = pack.declaration() + signature.declaration();
  code.source =
      format("// {}{}{}\n// A product a sample{}, in {}; kernels/conv_pointwise.h has the kernel.\n",
             describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary,
             c.groups > 1 ? " and group" : "", exact ? "pairs of TF32" : "TF32");
  code.source += convolution_struct(c, product) + "\n" +
                 planes_struct(c, planes, keeps_step(c, sizes, request.region)) + "\n";
  if (!starts && !epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format("{} {{\n  return stitch::pack_pointwise<{}, {}, {}>({}, packed, stream);\n}}\n\n",
                        pack.head(), product, planes, exact, weight.pointer);
  code.source += format(
      "{} {{\n  return stitch::enqueue_pointwise<{}, {}, {}>(\n      \"{}\", {}, {}, {}, {}, {}, "
      "stream);\n}}\n",
      signature.head(), product, planes, exact, request.name, x.pointer, packed, bias, out.pointer, functor);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
