// conv.split_half: convolutions over few channels on fp16 tensor cores, every number as two of fp16: FP32's
// accuracy, three products, and the epilogue before the result is stored. Two kernels: one that keeps the
// part of x under a tile in shared memory (kernels/conv_split_halo.h), and for whatever that one can't do,
// such as transposed convolutions, a product that gathers (kernels/conv_split.h). settings: half = 1
// multiplies once, with TF32's accuracy. Chosen where PyTorch stays in FP32 because tensor cores of cuDNN's
// waste most of their depth on so few channels, and where turning large images for cuDNN takes longer.
#include <array>
#include <optional>

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

// A convolution as the kernel with a halo walks it: along z, y and x.
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

  // Short rows under filters of one column: y and x are one axis then, on which neighbours in y lie a row
  // apart. Tiles are 32 wide.
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

// What HaloTile computes, in the same names.
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
  bool fit() const {
    constexpr int64_t most_shared = 110 * 1024, most = int64_t{1} << 31;
    return shared_bytes <= most_shared && blocks < most && slices <= 65535;
  }
};

// The kernel with a halo wants rows below each other and neighbours along x or channels.
std::optional<Halo> halo_of(const Convolution& c) {
  if (c.transposed || c.groups != 1 || c.result.scatter || c.channels_in > 16) return std::nullopt;
  const Halo plain(c);
  if (plain.has_short_rows())
    if (Halo joined = plain.with_rows_joined(); HaloSizes(c, joined).fit()) return joined;
  if (c.size_out[1] == 1 || (plain.out[4] != 1 && plain.out[1] != 1)) return std::nullopt;
  return HaloSizes(c, plain).fit() ? std::optional(plain) : std::nullopt;
}

std::string halo_struct(const Convolution& c, const Halo& halo, const std::string& name) {
  constexpr const char* axes[] = {"z", "y", "x"};
  std::string text =
      format("struct {} {{\n  static constexpr int samples = {}, channels = {}, filters = {};\n", name,
             c.batch, c.channels_in, c.channels_out);
  for (size_t d = 0; d < 3; ++d) {
    text += format("  static constexpr int size_in_{0} = {1}, size_out_{0} = {2}, kernel_{0} = {3};\n",
                   axes[d], halo.size_in[d], halo.size_out[d], halo.kernel[d]);
    text += format("  static constexpr int stride_{0} = {1}, padding_{0} = {2}, dilation_{0} = {3};\n",
                   axes[d], halo.stride[d], halo.padding[d], halo.dilation[d]);
  }
  auto add_strides = [&](const char* of, const std::array<int64_t, 5>& strides, int64_t offset) {
    text += format(
        "  static constexpr int64_t {0}_stride_sample = {1}, {0}_stride_channel = {2}, {0}_offset = {3};\n"
        "  static constexpr int64_t {0}_stride_z = {4}, {0}_stride_y = {5}, {0}_stride_x = {6};\n",
        of, strides[0], strides[1], offset, strides[2], strides[3], strides[4]);
  };
  add_strides("x", halo.x, c.x.offset);
  add_strides("out", halo.out, c.result.view.offset);
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
  const std::optional<Halo> halo = halo_of(c);
  std::string product = type_name(request.name, "Product"), packed = request.name + "_weight_split";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  int64_t elements = halo ? HaloSizes(c, *halo).packed : 2 * packed_elements(c);
  std::string kernel = halo ? "conv_split_halo" : "conv_split", tile = type_name(request.name, "Halo");
  std::string comment = format("({}): high and low parts", elements);

  RegionCode code;
  code.includes = format("#include \"stitch/kernels/{}.h\"\n", kernel);
  const std::string function = "pack_" + request.name;
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
  code.source = format("// {}{}{}\n// {}, on fp16 tensor cores{}; kernels/{}.h has the kernel.\n{}\n",
                       describe(c), epilogue.summary.empty() ? "" : ", then ", epilogue.summary,
                       halo ? "x is read once into shared memory" : "A product that gathers x",
                       exact ? " in pairs of fp16" : "", kernel, convolution_struct(c, product));
  if (halo) code.source += halo_struct(c, *halo, tile) + "\n";
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
