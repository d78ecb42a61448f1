// conv.pointwise of images channels last whose channels or filters aren't multiples of eight, in fp16: by our
// own kernel (kernels/conv_pointwise_odd.h), bias and epilogue included. Libraries pad such images, filters
// and results in kernels of their own: cuDNN takes 31 us for 16 x 58 x 28² to 58 filters on an H200, whose
// bytes take 1.
#include "code/names.h"
#include "code/products/conv_pointwise.h"
#include "code/products/signature.h"
#include "plan/layouts.h"

namespace stitch::code {

bool has_odd_channels(const Graph& graph, const plan::Region& region) {
  const Convolution c = geometry_of(graph, *plan::convolution_in(graph, region));
  constexpr int64_t at_once = 8, most_pixels = int64_t{1} << 31;
  return c.groups == 1 && c.channels_in > 1 && c.batch * c.positions() < most_pixels &&
         (c.channels_in % at_once != 0 || c.channels_out % at_once != 0);
}

bool suits_odd(const RegionRequest& request, const Convolution& c) {
  const View &x = c.x, &out = c.result.view;
  return request.region.offer.rounds_to_half() && has_odd_channels(request.graph, request.region) &&
         !c.result.scatter && channels_last(c, x) && channels_last(c, out) && x.offset == 0 &&
         out.offset == 0;
}

RegionCode write_pointwise_odd(const RegionRequest& request, const Convolution& c, const Epilogue& epilogue) {
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  const std::string product = type_name(request.name, "Product"), rows = type_name(request.name, "Rows"),
                    packed = request.name + "_weight_packed", function = "pack_" + request.name;
  // What OddTile computes.
  const int64_t filter_tiles = (c.channels_out + 7) / 8, slices = (filter_tiles + 7) / 8,
                elements =
                    slices * ((filter_tiles + slices - 1) / slices) * ((c.channels_in + 15) / 16) * 128;
  const std::string comment = format("({}): operands as lanes take them", elements);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_pointwise_odd.h\"\n";
  code.packed.push_back(
      packed_memory(packed, DType::f16, elements, PackCall{function, {weight.pointer, packed}}));
  Signature pack(function), signature("enqueue_" + request.name);
  pack.read(weight);
  pack.add(Signature::writes, "__half*", "packed", comment);
  signature.read(x);
  signature.packed(code.packed.back(), comment);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = pack.declaration() + signature.declaration();
  code.source =
      format("// {}{}{}\n// A product of all pixels in fp16; kernels/conv_pointwise_odd.h has the kernel.\n",
             describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary);
  code.source += convolution_struct(c, product) + "\n";
  code.source += format(
      "struct {} {{\n  static constexpr int64_t pixels = {}, plane = {};  // of all samples, and of one\n"
      "  static constexpr int channels = {}, filters = {};\n}};\n\n",
      rows, c.batch * c.positions(), c.positions(), c.channels_in, c.channels_out);
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  code.source += format("{} {{\n  return stitch::pack_odd<{}, {}>({}, packed, stream);\n}}\n\n", pack.head(),
                        product, rows, weight.pointer);
  code.source +=
      format("{} {{\n  return stitch::enqueue_odd<{}, {}>(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
             signature.head(), product, rows, request.name, x.pointer, packed, out.pointer,
             epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
