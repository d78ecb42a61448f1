// conv.depthwise: depthwise convolutions, 1-d and 2-d, on the CUDA cores, exact: x is read and the result
// written about once (kernels/conv_depthwise.h), tiles in shared memory for NCHW, registers for NHWC. Chosen
// for every depthwise convolution: cuDNN takes 4 to 9 times as long as the bytes (H200).
#include <algorithm>

#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

struct Tile {
  int64_t threads_x = 32, threads_y = 8, each = 4, along = 1, planes = 1;
};

// The tile of NCHW images with the least redundant loading and idle computation; empty: the kernel is too
// large. Small images share a block. 1-d convolutions have no rows to share: threads compute several outputs
// each, otherwise launching the blocks dominates (H200: 41 us for 8 x 96 lines of 8192, which conv.plain
// computes in 21).
std::optional<Tile> tile_of(const Convolution& c) {
  constexpr int64_t most_bytes = 47 * 1024, most_threads = 256, most_planes = 16, most_along = 8;
  constexpr int64_t least_blocks = 1024;  // a few per multiprocessor
  const int64_t outputs = c.batch * c.channels_out * c.size_out[2];
  const bool line = c.size_out[1] == 1;
  auto padded = [](int64_t size, int64_t by) { return (size + by - 1) / by; };
  std::optional<Tile> best;
  int64_t least = 0;
  for (int64_t threads_x : line ? std::vector<int64_t>{128, 64, 32} : std::vector<int64_t>{32, 16, 8})
    for (int64_t high : line ? std::vector<int64_t>{1} : std::vector<int64_t>{32, 16, 8, 4})
      for (int64_t each : line ? std::vector<int64_t>{1} : std::vector<int64_t>{4, 2, 1}) {
        Tile tile{threads_x, high / each, each, 1, 1};
        auto columns_of = [&](int64_t along) {
          return (threads_x * along - 1) * c.stride[2] + (c.kernel[2] - 1) * c.dilation[2] + 1;
        };
        while (line && tile.along < most_along && 2 * tile.along * most_threads * least_blocks <= outputs &&
               threads_x * tile.along < c.size_out[2] && 8 * columns_of(2 * tile.along) <= most_bytes)
          tile.along *= 2;
        const int64_t wide = threads_x * tile.along;
        const int64_t threads = threads_x * tile.threads_y;
        if (high % each != 0 || threads > most_threads) continue;
        const int64_t rows = (high - 1) * c.stride[1] + (c.kernel[1] - 1) * c.dilation[1] + 1,
                      columns = columns_of(tile.along),
                      bytes = 4 * (rows * columns + c.kernel[1] * c.kernel[2]);
        if (bytes > most_bytes) continue;
        while (tile.planes < most_planes && 2 * tile.planes * threads <= most_threads &&
               2 * tile.planes * bytes <= most_bytes)
          tile.planes *= 2;
        // Rows shared by two outputs are read once from shared memory for `each` of them.
        const int64_t work = rows * columns + threads * tile.along * (each + 2),
                      idle = most_threads / (threads * tile.planes),  // of a block's usual threads
            cost =
                padded(c.size_out[2], wide) * padded(c.size_out[1], high) * work * std::max<int64_t>(idle, 1);
        if (best && cost >= least) continue;
        best = tile;
        least = cost;
      }
  return best;
}

std::string layer_struct(const Convolution& c, const Convolution& usual, const Tile& tile,
                         const std::string& name, bool rows_first) {
  std::string text = layer_head(c, name);
  text += format("  static constexpr int channels_out = {}, multiplier = {};\n", c.channels_out,
                 c.channels_out / c.channels_in);
  text += layer_geometry(c);
  text += format("  static constexpr int usual_batch = {}, usual_height = {}, usual_width = {};\n",
                 usual.batch, usual.size_out[1], usual.size_out[2]);
  text +=
      format("  static constexpr int threads_x = {}, threads_y = {}, each = {}, along = {}, planes = {};\n",
             tile.threads_x, tile.threads_y, tile.each, tile.along, tile.planes);
  auto strides = c.strides(c.result.view);
  bool last = !c.result.scatter && strides[1] == 1 && c.result.view.offset % 8 == 0;
  for (int64_t stride : {strides[0], strides[3], strides[4]}) last = last && stride % 8 == 0;
  text += format("  static constexpr bool out_last = {}, rows_first = {};\n", last, rows_first);
  return text + layer_indices(c) + "};\n";
}

Result<void> accepts_conv_depthwise(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c, accepts_convolution(context.graph, region, {.packs = false}));
  if (c.transposed || !c.depthwise() || c.dims > 2)
    return not_for(region, "takes depthwise convolutions of 1 or 2 dimensions");
  if (!tile_of(c)) return not_for(region, "has no tile for so large a kernel");
  return {};
}

Result<RegionCode> write_conv_depthwise(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, parts, 1, 1, nullptr, ElementBy::coordinates));
  if (!c.weight.contiguous() || c.weight.offset != 0) return not_for(request.region, "needs a dense weight");
  const Convolution usual = deciding_geometry(request, *parts.product);
  const auto tile = tile_of(usual);
  if (!tile) return not_for(request.region, "has no tile for so large a kernel");
  // In NHWC its weight is packed once.
  bool last = c.strides(c.x)[1] == 1 && c.channels_in > 1 &&
              plan::is_constant(request.graph, parts.product->operands[1]);
  std::string layer = type_name(request.name, "Layer"), functor = epilogue.construct;
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;

  Signature signature("enqueue_" + request.name);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/conv_depthwise.h\"\n";
  code.source = format("// {}{}\n// Every channel by itself on the CUDA cores, {}.\n{}\n", describe(c),
                       epilogue.then(), last ? "channels last" : "tiles of planes in shared memory",
                       layer_struct(c, usual, *tile, layer, request.context.torch.as_pytorch));
  code.source += epilogue.text();
  signature.read(x);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  if (last) {
    // Eight channels of a 16-bit type per thread leave too few threads: slower than FP32's four (H200). Large
    // filters keep their weights in registers.
    const bool large = c.taps() >= 49 && c.stride == Convolution::Three{1, 1, 1};
    int64_t wide = large ? 2 : 4, quads = wide;
    auto strides = c.strides(c.x);
    bool whole = c.channels_out == c.channels_in && c.channels_in % quads == 0 && c.x.offset % quads == 0;
    for (int64_t stride : {strides[0], strides[3], strides[4]}) whole = whole && stride % quads == 0;
    if (!whole) wide = 1;
    std::string name = request.name + "_weight_by_tap",
                comment = format("({}, {}): taps, channels", c.taps(), c.channels_out);
    const std::string function = "pack_" + request.name;
    Packed packed = packed_memory(name, DType::f32, c.taps() * c.channels_out,
                                  PackCall{function, {weight.pointer, name}});
    Signature pack(function);
    pack.read(weight);
    pack.add(Signature::writes, "float*", "packed", comment);
    code.declaration += pack.declaration();
    code.source += format("{} {{\n  return stitch::pack_filter({}, packed, 1, {}, {}, {}, stream);\n}}\n\n",
                          pack.head(), weight.pointer, c.channels_out, c.channels_out, c.taps());
    code.includes += "#include \"stitch/kernels/conv_arrange.h\"\n";
    signature.packed(packed, comment);
    code.packed.push_back(std::move(packed));
    code.source += format(
        "{} {{\n  return stitch::enqueue_depthwise_last<{}>(\n      \"{}\", {}{{}}, {}, {}, {}, {}, "
        "stream);\n}}\n",
        signature.head(), wide, request.name, layer, x.pointer, name, out.pointer, functor);
  } else {
    signature.read(weight);
    code.source += format(
        "{} {{\n  return stitch::enqueue_depthwise_planes(\n      \"{}\", {}{{}}, {}, {}, {}, {}, "
        "stream);\n}}\n",
        signature.head(), request.name, layer, x.pointer, weight.pointer, out.pointer, functor);
  }
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique conv_depthwise{{
    .name = "conv.depthwise",
    .idea = "depthwise convolutions at memory bandwidth",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_depthwise,
    .write = write_conv_depthwise,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return streaming_rate(context);
    },
    .takes_any_order = true,
    // Reads and writes one layout: it doesn't transpose.
    .row_major_values = [](const plan::Context& context, const plan::Region& region,
                           const plan::Movable& movable, int64_t) -> std::vector<ValueId> {
      const ValueId x = plan::convolution_in(context.graph, region)->operands[0];
      const bool direct = std::ranges::find(region.reads, x) != region.reads.end();
      if (direct && movable(x) && movable(region.writes[0])) return {};
      return plan::reads_and_writes(region);
    },
}};

}  // namespace stitch::code
