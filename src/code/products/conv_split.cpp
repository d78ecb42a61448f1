// conv.split_half: convolutions over few channels on fp16 tensor cores, every number as two of fp16: FP32's
// accuracy, three products, and the epilogue before the result is stored. Two kernels: one that keeps the
// part of x under a tile in shared memory (kernels/conv_split_halo.h), and for whatever that one can't do,
// such as transposed convolutions, a product that gathers (kernels/conv_split.h). settings: half = 1
// multiplies once, with TF32's accuracy. Chosen where PyTorch stays in FP32 because tensor cores of cuDNN's
// waste most of their depth on so few channels, and where turning large images for cuDNN takes longer.
#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/families.h"
#include "code/products/signature.h"

namespace stitch::code {

namespace {

int64_t rounded_up(int64_t count, int64_t by) { return (count + by - 1) / by * by; }

// As split_tile has it: elements of one part.
int64_t packed_elements(const Convolution& c) {
  int64_t filters = c.channels_out / c.groups, rows = filters >= 49 ? 64 : rounded_up(filters, 16);
  return c.groups * rounded_up(filters, rows) * rounded_up(c.channels_in / c.groups * c.taps(), 16);
}

// What HaloTile computes, in the same names.
struct HaloSizes {
  int64_t packed, shared_bytes, blocks, slices;

  explicit HaloSizes(const Convolution& c) {
    slices = rounded_up(c.channels_out, 64) / 64;
    int64_t filter_tiles = rounded_up(rounded_up(c.channels_out, slices) / slices, 16) / 16;
    int64_t rows = filter_tiles <= 2 ? 16 : 8, depth_rows = c.size_out[0] > 1 ? 2 : 1;
    Convolution::Three size{depth_rows, rows / depth_rows, 32}, halo{};
    int64_t quads = rounded_up(c.channels_in, 4) / 4, steps = rounded_up(c.taps() * quads, 4) / 4;
    blocks = c.batch;
    for (size_t d = 0; d < 3; ++d) {
      halo[d] = (size[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1;
      blocks *= rounded_up(c.size_out[d], size[d]) / size[d];
    }
    int64_t pitch = rounded_up(halo[2] + 4, 8) - 4;
    shared_bytes = halo[0] * halo[1] * pitch * quads * 16 + rounded_up(steps * 16, 128) + 8 * 16 * 40 * 4;
    packed = slices * steps * filter_tiles * 512;
  }
};

// The kernel with a halo wants rows below each other and neighbours along x or channels, and two of its
// blocks share a multiprocessor.
bool takes_halo(const Convolution& c) {
  constexpr int64_t most_shared = 110 * 1024, most = int64_t{1} << 31;
  if (c.transposed || c.groups != 1 || c.result.scatter || c.channels_in > 16) return false;
  auto strides = c.strides(c.result.view);
  if (c.size_out[1] == 1 || (strides[4] != 1 && strides[1] != 1)) return false;
  HaloSizes sizes(c);
  return sizes.shared_bytes <= most_shared && sizes.blocks < most && sizes.slices <= 65535;
}

std::string halo_struct(const Convolution& c, const std::string& name) {
  constexpr const char* axes[] = {"z", "y", "x"};
  std::string text =
      format("struct {} {{\n  static constexpr int samples = {}, channels = {}, filters = {};\n", name,
             c.batch, c.channels_in, c.channels_out);
  for (size_t d = 0; d < 3; ++d) {
    text += format("  static constexpr int size_in_{0} = {1}, size_out_{0} = {2}, kernel_{0} = {3};\n",
                   axes[d], c.size_in[d], c.size_out[d], c.kernel[d]);
    text += format("  static constexpr int stride_{0} = {1}, padding_{0} = {2}, dilation_{0} = {3};\n",
                   axes[d], c.stride[d], c.padding[d], c.dilation[d]);
  }
  auto add_strides = [&](const char* of, const View& view) {
    auto strides = c.strides(view);
    text += format(
        "  static constexpr int64_t {0}_stride_sample = {1}, {0}_stride_channel = {2}, {0}_offset = {3};\n"
        "  static constexpr int64_t {0}_stride_z = {4}, {0}_stride_y = {5}, {0}_stride_x = {6};\n",
        of, strides[0], strides[1], view.offset, strides[2], strides[3], strides[4]);
  };
  add_strides("x", c.x);
  add_strides("out", c.result.view);
  return text + "};\n";
}

}  // namespace

Result<void> accepts_conv_split(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  Convolution c = geometry_of(graph, node);
  if (graph.type(node.results[0]).dtype != DType::f32) return not_for(region, "takes convolutions of f32");
  if (graph.type(node.results[0]).elements() == 0 || c.taps() == 0 || c.channels_in == 0)
    return not_for(region, "has no convolutions of nothing");
  if (!graph[node.operands[1]].has_data()) return not_for(region, "packs its weight once");
  if (c.groups > 65535 || c.channels_out / c.groups > 65535 * 64)
    return not_for(region, "has no grid for so many filters");
  return {};
}

Result<RegionCode> write_conv_split(const RegionRequest& request) {
  STITCH_CHECK(accepts_conv_split(request.graph, request.region));
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1));
  auto half = request.region.settings.find("half");
  bool exact = half == request.region.settings.end() || half->second == 0;
  bool last = !c.result.scatter && c.strides(c.result.view)[1] == 1 && c.channels_out > 1;
  bool halo = takes_halo(c);
  std::string product = type_name(request.name, "Product"), packed = request.name + "_weight_split";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  int64_t elements = halo ? HaloSizes(c).packed : 2 * packed_elements(c);
  std::string kernel = halo ? "conv_split_halo" : "conv_split", tile = type_name(request.name, "Halo");
  std::string comment = format("({}): high and low parts", elements);

  RegionCode code;
  code.includes = format("#include \"stitch/kernels/{}.h\"\n", kernel);
  code.packed.push_back(
      {packed, "__half", elements,
       format("STITCH_OK_OR_RETURN(pack_{}({}, {}, nullptr));", request.name, weight.pointer, packed)});
  Signature pack("pack_" + request.name), signature("enqueue_" + request.name);
  pack.read(weight);
  pack.add(Signature::writes, "__half*", "packed", comment);
  signature.read(x);
  signature.packed(code.packed.back(), comment);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration = pack.declaration() + signature.declaration();
  code.source = format("// {}{}{}\n// {}, on fp16 tensor cores{}; kernels/{}.h has the kernel.\n{}\n",
                       describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary,
                       halo ? "x is read once into shared memory" : "A product that gathers x",
                       exact ? " in pairs of fp16" : "", kernel, convolution_struct(c, product));
  if (halo) code.source += halo_struct(c, tile) + "\n";
  if (!epilogue.empty()) code.source += epilogue.definition + "\n";
  std::string packs =
      halo ? format("pack_split_halo<{}, {}>", product, tile) : format("pack_split<{}>", product);
  std::string runs = halo ? format("enqueue_conv_split_halo<{}, {}, {}>", product, tile, exact)
                          : format("enqueue_conv_split<{}, {}, {}>", product, exact, last);
  code.source +=
      format("{} {{\n  return stitch::{}({}, packed, stream);\n}}\n\n", pack.head(), packs, weight.pointer);
  code.source += format("{} {{\n  return stitch::{}(\n      \"{}\", {}, {}, {}, {}, stream);\n}}\n",
                        signature.head(), runs, request.name, x.pointer, packed, out.pointer,
                        epilogue.empty() ? "stitch::NoEpilogue{}" : epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
