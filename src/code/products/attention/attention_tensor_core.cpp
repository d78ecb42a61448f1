// attention.tensor_core: flash attention on tensor cores (kernels/attention_tensor_core.h). Classes strict
// and default split numbers into two fp16 parts and use three products: FP32 accuracy at up to a third of the
// tensor cores' rate. Classes tf32 and half use one. Any mask. Heads of at most 128 features walk over their
// keys; wider ones keep all scores of 64 queries (kernels/attention_wide_heads.h), of at most 512 keys.
// Knobs, except for wide heads: row_tiles (16 queries per warp each), warps, key_tile.
#include <array>

#include "base/text.h"
#include "code/products/attention/attention.h"
#include "code/products/techniques.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

namespace {

constexpr int64_t widest = 128, most_keys_of_wide_heads = 512;

bool is_wide(int64_t width, int64_t value_width) { return width > widest || value_width > widest; }

// FP32 accuracy by pairs of fp16.
bool splits(Numerics numerics) { return numerics == Numerics::strict || numerics == Numerics::standard; }

struct Tiles {
  int64_t warps, row_tiles, key_tile;
};

// Few queries or few heads: small blocks, so that there are many. Otherwise 32 queries per warp, which halves
// the reads from shared memory per product. Wide heads leave registers for 32 keys at a time.
Tiles tiles_of(const Attention& a, const RegionRequest& request) {
  const int64_t enough_blocks = 2 * request.context.gpu.sms;
  Tiles out{4, 2, 64};
  if (a.queries <= 64 || a.heads * ((a.queries + 127) / 128) < enough_blocks) out.row_tiles = 1;
  if (a.queries <= 48) out.warps = (a.queries + 15) / 16;
  if (out.row_tiles == 2 && std::max(a.width, a.value_width) > 80) out.key_tile = 32;
  out.key_tile = std::min(out.key_tile, (a.keys + 15) / 16 * 16);
  out.warps = request.region.choice("warps", out.warps);
  out.row_tiles = request.region.choice("row_tiles", out.row_tiles);
  out.key_tile = request.region.choice("key_tile", out.key_tile);
  // GPUs differ most in shared memory per block.
  const int64_t parts = splits(request.context.numerics) ? 2 : 1;
  auto fits = [&] {
    return shared_memory::tensor_core_attention(a.width, a.value_width, 16 * out.warps * out.row_tiles,
                                                out.key_tile, parts) +
               shared_memory::declared <=
           request.context.gpu.shared_per_block;
  };
  if (!fits()) out.row_tiles = 1;
  while (!fits() && out.key_tile > 16) out.key_tile = std::max<int64_t>(out.key_tile / 32 * 16, 16);
  while (!fits() && out.warps > 1) --out.warps;
  return out;
}

Result<void> accepts_attention_tensor_core(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops));
  const Node& node = *parts.product;
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "sums in f32");
  const Shape &k = graph.type(node.operands[1]).shape, &v = graph.type(node.operands[2]).shape;
  if (is_wide(k.back(), v.back()) && k[k.size() - 2] > most_keys_of_wide_heads)
    return not_for(region, format("takes at most {} keys where heads have more than {} features",
                                  most_keys_of_wide_heads, widest));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  const int64_t halves = splits(context.numerics) ? 2 : 1;
  const int64_t least = is_wide(k.back(), v.back())
                            ? shared_memory::wide_heads_attention(k[k.size() - 2], v.back(), halves)
                            : shared_memory::tensor_core_attention(k.back(), v.back(), 16, 16, halves);
  if (least + shared_memory::declared > context.gpu.shared_per_block)
    return not_for(region,
                   format("needs {} bytes of shared memory, and a block of {} has {}",
                          least + shared_memory::declared, context.gpu.name, context.gpu.shared_per_block));
  return {};
}

Result<RegionCode> write_attention_tensor_core(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops));
  STITCH_TRY(Attention a, attention_of(request, parts));
  const bool split = splits(request.context.numerics);
  STITCH_TRY(const Attention decided, deciding_attention(request, attention_ops));
  const Tiles tiles = tiles_of(decided, request.deciding());
  if (is_wide(a.width, a.value_width) && keys_vary(request, a))
    return not_for(request.region, "shares the keys of wide heads among warps when it is compiled");
  bool quads = lies_in_runs(a.q.at, "i", a.width, 4) && lies_in_runs(a.k.at, "i", a.width, 4) &&
               lies_in_runs(a.v.at, "i", a.value_width, 4);
  for (const Indexed* operand : {&a.q, &a.k, &a.v}) quads &= operand->place->dtype == DType::f32;
  bool out_pairs = lies_in_runs(a.out, "i", a.value_width, 2) && a.result.view.place->dtype == DType::f32;
  bool mask_runs =
      a.mask && a.mask->place->dtype == DType::boolean && lies_in_runs(a.mask->at, "key", a.keys, 16);
  const int64_t key_share = shared_memory::wide_heads_share(a.keys);
  if (is_wide(a.width, a.value_width))
    return write_heads(
        request, a, parts, "attention_wide_heads.h", "enqueue_wide_heads_attention",
        split ? "All scores of 64 queries on tensor cores, numbers as pairs of fp16: FP32's accuracy."
              : "All scores of 64 queries on tensor cores, numbers rounded to fp16.",
        format("  static constexpr int parts = {}, key_share = {};\n"
               "  static constexpr bool quads = {}, out_pairs = {};\n",
               split ? 2 : 1, key_share, quads, out_pairs));
  std::string more = format(
      "  static constexpr int warps = {}, row_tiles = {}, key_tile = {}, parts = {};\n"
      "  static constexpr bool quads = {}, out_pairs = {}, mask_runs = {};\n",
      tiles.warps, tiles.row_tiles, tiles.key_tile, split ? 2 : 1, quads, out_pairs, mask_runs);
  return write_heads(request, a, parts, "attention_tensor_core.h", "enqueue_tensor_core_attention",
                     format("Online softmax over tiles of {} keys on tensor cores, {}.", tiles.key_tile,
                            split ? "numbers as pairs of fp16: FP32's accuracy" : "numbers rounded to fp16"),
                     more);
}

}  // namespace

constinit const ProductTechnique attention_tensor_core{{
    .name = "attention.tensor_core",
    .idea = "online softmax, products on tensor cores at the accuracy of the class",
    .kind = plan::Kind::attention,
    .accepts = accepts_attention_tensor_core,
    .write = write_attention_tensor_core,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.5 * context.gpu.tensor_fp16 / (splits(context.numerics) ? 3 : 1), 0.7, 1};
    },
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"warps", "warps per block, 16 queries each", {1, 2, 3, 4}},
              {"row_tiles", "tiles of 16 queries per warp", {1, 2}},
              {"key_tile", "keys in shared memory at a time", {16, 32, 48, 64}}};
    },
    .operand_precision =
        [](const plan::Context& context, const plan::Region&) {
          return splits(context.numerics) ? plan::Precision::f32 : plan::Precision::f16;
        },
}};

}  // namespace stitch::code
