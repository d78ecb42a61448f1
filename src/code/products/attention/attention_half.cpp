// attention.half: flash attention for fp16 or bf16 on tensor cores, softmax in FP32
// (kernels/attention_half.h), like PyTorch's fused attention. Any mask, heads of at most 256 features. With
// few queries, heads that share k and v are rows of one block, and blocks share the keys if they are too few
// to fill the GPU: a decoding step. Chosen wherever q, k and v have one such type. Knobs: warps, row_tiles
// (16 queries per warp each), key_tile, splits, stages.
#include <algorithm>
#include <array>

#include "base/division.h"
#include "base/text.h"
#include "code/products/attention/attention.h"
#include "code/products/techniques.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

namespace {

constexpr int64_t widest_half = 256, most_packed_queries = 8;
constexpr int64_t most_kept_keys = 64;  // of a tile with a bool mask: one bit each in a word

bool keeps(const Attention& a) { return a.mask && a.mask->place->dtype == DType::boolean; }

struct HalfTiles {
  int64_t warps, row_tiles, key_tile, group, splits, stages;
  int64_t rows() const { return 16 * warps * row_tiles; }
  shared_memory::KeptTiles kept(const Attention& a) const {
    const bool mask_queries = keeps(a) && (group > 1 || a.mask->at.appears("query"));
    return {.rows = !keeps(a)      ? 0
                    : mask_queries ? rows()
                                   : 1,
            .tiles = divided_up(divided_up(a.keys, key_tile), splits)};
  }
  shared_memory::HalfTiles shared(const Attention& a) const {
    return {.width = a.width,
            .value_width = a.value_width,
            .row_tiles = row_tiles,
            .rows = rows(),
            .key_tile = key_tile,
            .stages = shared_memory::HalfTiles::stages_of(stages, kept(a))};
  }
  int64_t bytes(const Attention& a) const { return shared(a).bytes(kept(a)); }
  // Blocks that run at once on a multiprocessor, for the given tiles of keys.
  int64_t resident(const Attention& a, const GpuSpec& gpu) const {
    constexpr int64_t reserved = 1024, most = 32;
    const shared_memory::HalfTiles sizes = shared(a);
    return std::max<int64_t>(std::min({sizes.resident(), gpu.shared_per_sm / (bytes(a) + reserved), most}),
                             1);
  }
};

// Warps per block for `rows` queries of each of `heads` heads. If a head has few blocks, the number that
// leaves the fewest warps idle (H200, 197 queries: 7 warps 14.1 us, 4 warps 14.8), unless occupancy drops and
// the last blocks run alone (257 queries of 96 heads: 6 warps 17.2 us, 4 warps 12.3).
int64_t warps_for(const Attention& a, HalfTiles tiles, int64_t rows, int64_t heads, int64_t sms) {
  if (rows <= 48) return divided_up(rows, 16);
  auto blocks = [&](int64_t warps) { return heads * divided_up(rows, 16 * warps); };
  auto waves = [&](int64_t warps) {
    tiles.warps = warps;
    return divided_up(blocks(warps), sms * tiles.shared(a).resident());
  };
  int64_t best = 4;
  for (int64_t warps = 5; warps <= 8 && rows <= 512; ++warps)
    if (blocks(warps) * warps < blocks(best) * best && blocks(warps) >= 2 * sms && waves(warps) <= waves(4))
      best = warps;
  return best;
}

HalfTiles half_tiles(const Attention& a, const RegionRequest& request) {
  const int64_t sms = request.context.gpu.sms, wide = std::max(a.width, a.value_width);
  HalfTiles out{.warps = 4, .row_tiles = 1, .key_tile = 64, .group = 1, .splits = 1, .stages = 2};
  if (a.queries <= most_packed_queries) out.group = heads_that_share(request, a);
  const int64_t all_rows = out.group * a.queries, heads = a.heads / out.group;
  // 32 queries per warp halve the reads from shared memory and L2 per product, if there are enough blocks
  // (H200, 4,096 keys: 64 features 420 us instead of 443, 128 features 366 instead of 434). Masks, wide and
  // narrow heads don't gain.
  if (!a.mask && wide >= 32 && wide <= 128 && heads * divided_up(all_rows, 128) >= 3 * sms) out.row_tiles = 2;

  // If reading the keys dominates, small tiles: more blocks have copies in flight.
  if (wide > 128 || (all_rows <= 16 && wide > 64)) out.key_tile = 32;
  // One tile, if all keys fit.
  if (!a.mask && wide <= 64 && a.keys > 64 && a.keys <= 96) out.key_tile = 96;
  out.key_tile = std::min(out.key_tile, divided_up(a.keys, 16) * 16);
  if (out.row_tiles == 1) out.warps = warps_for(a, out, all_rows, heads, sms);
  out.warps = request.region.choice("warps", out.warps);
  out.row_tiles = request.region.choice("row_tiles", out.row_tiles);
  out.key_tile = request.region.choice("key_tile", out.key_tile);
  if (keeps(a)) out.key_tile = std::min(out.key_tile, most_kept_keys);
  auto fits = [&] { return out.bytes(a) + shared_memory::declared <= request.context.gpu.shared_per_block; };
  if (!fits()) out.row_tiles = 1;
  while (!fits() && out.key_tile > 16) out.key_tile = std::max<int64_t>(out.key_tile / 32 * 16, 16);
  while (!fits() && out.warps > 1) --out.warps;

  // Blocks of few warps: several per multiprocessor. A second pass must be worth its launch.
  const int64_t blocks = heads * divided_up(all_rows, out.rows()), tiles = divided_up(a.keys, out.key_tile);
  int64_t splits = 1;
  if (all_rows <= 16)
    splits = even_splits(blocks, sms * out.resident(a, request.context.gpu), tiles);
  else if (blocks < sms && tiles >= 8)
    splits = divided_up((out.warps <= 2 ? 4 : 2) * sms, blocks);
  splits = std::min(request.region.choice("splits", splits), tiles);
  out.splits = divided_up(tiles, divided_up(tiles, splits));

  // Two stages were measured; more hide more L2 latency and leave less L1: the tuner tries them.
  out.stages = request.region.choice("stages", out.stages);
  if (!fits()) out.stages = 2;
  return out;
}

// The stride along `variable`; 0 if not uniform.
int64_t step_along(const Index& index, const char* variable) {
  return index.appears_only_linearly(variable) ? index.factor_of(variable) : 0;
}

Result<void> accepts_attention_half(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, attention_ops, true));
  const Node& node = *parts.product;
  const DType dtype = graph.type(node.operands[0]).dtype;
  if (dtype != DType::f16 && dtype != DType::bf16) return not_for(region, "takes f16 and bf16 only");
  for (size_t i = 1; i < 3; ++i)
    if (graph.type(node.operands[i]).dtype != dtype) return not_for(region, "takes operands of one type");
  if (std::max(graph.type(node.operands[0]).shape.back(), graph.type(node.operands[2]).shape.back()) >
      widest_half)
    return not_for(region, format("takes heads of at most {} features", widest_half));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  const int64_t least = shared_memory::HalfTiles{.width = graph.type(node.operands[0]).shape.back(),
                                                 .value_width = graph.type(node.operands[2]).shape.back(),
                                                 .row_tiles = 1,
                                                 .rows = 16,
                                                 .key_tile = 16,
                                                 .stages = 2}
                            .bytes({.rows = 16, .tiles = 2});
  if (std::ranges::any_of(region.nodes, [&](int32_t n) { return graph.node(n).op == Op::concat; })) {
    STITCH_TRY(Attention a, attention_of(request_alone(context, region), parts));
    STITCH_CHECK(accepts_tails(region, a));
  }
  if (least + shared_memory::declared > context.gpu.shared_per_block)
    return not_for(region,
                   format("needs {} bytes of shared memory, and a block of {} has {}",
                          least + shared_memory::declared, context.gpu.name, context.gpu.shared_per_block));
  return {};
}

Result<RegionCode> write_attention_half(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, attention_ops, true));
  STITCH_TRY(Attention a, attention_of(request, parts));
  STITCH_CHECK(accepts_tails(request.region, a));
  for (const Indexed* operand : {&a.q, &a.k, &a.v})
    if (operand->place->dtype != request.graph.type(a.node->operands[0]).dtype)
      return not_for(request.region, "reads fp16 or bf16 as the graph has it");
  bool runs = lies_in_runs(a.q.at, "i", a.width, 8) && lies_in_runs(a.k.at, "i", a.width, 8) &&
              lies_in_runs(a.v.at, "i", a.value_width, 8);
  for (const auto& [tail, width] : {std::pair{&a.k_tail, a.width}, {&a.v_tail, a.value_width}})
    runs = runs && (!*tail || lies_in_runs((*tail)->at, "i", width, 8));
  STITCH_TRY(const Attention decided, deciding_attention(request, attention_ops, true));
  const HalfTiles tiles = half_tiles(decided, request.deciding());
  const bool out_pairs = lies_in_runs(a.out, "i", a.value_width, 2);
  int64_t mask_run = 1;
  for (int64_t run : {16, 4, 2})
    if (mask_run == 1 && a.mask && (run == 2) != keeps(a) && lies_in_runs(a.mask->at, "key", a.keys, run))
      mask_run = run;
  const std::string more = format(
      "  static constexpr int warps = {}, row_tiles = {}, key_tile = {}, group = {}, splits = {}, stages = "
      "{};\n"
      "  static constexpr int rest = {};\n"
      "  static constexpr Index k_step = {}, v_step = {};\n"
      "  static constexpr bool runs = {}, out_pairs = {}, mask_queries = {};\n"
      "  static constexpr int mask_run = {};\n",
      tiles.warps, tiles.row_tiles, tiles.key_tile, tiles.group, tiles.splits, tiles.shared(decided).stages,
      keys_vary(request, a) ? -1 : a.keys % tiles.key_tile, step_along(a.k.at, "key"),
      step_along(a.v.at, "key"), runs, out_pairs, a.mask && a.mask->at.appears("query"), mask_run);
  const int64_t partial = tiles.splits > 1 ? tiles.splits * a.heads * a.queries * (a.value_width + 2) : 0;
  std::string idea = format("Online softmax over tiles of {} keys on tensor cores.", tiles.key_tile);
  if (tiles.group > 1) idea += format(" A block has {} heads of q that share k and v.", tiles.group);
  if (tiles.splits > 1) idea += format(" {} blocks share the keys; a second pass combines.", tiles.splits);
  return write_heads(request, a, parts, "attention_half.h", "enqueue_half_attention", idea, more, partial,
                     true);
}

}  // namespace

constinit const ProductTechnique attention_half{{
    .name = "attention.half",
    .idea = "online softmax, products of fp16 or bf16 tiles on tensor cores",
    .kind = plan::Kind::attention,
    .accepts = accepts_attention_half,
    .write = write_attention_half,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.4 * context.gpu.tensor_fp16, 0.7, 1};
    },
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"warps", "warps per block, 16 queries each", {1, 2, 4, 5, 6, 7, 8}},
              {"row_tiles", "tiles of 16 queries per warp", {1, 2}},
              {"key_tile", "keys in shared memory at a time", {16, 32, 64, 128}},
              {"splits", "blocks that share the keys of a head", {1, 2, 4, 8, 16, 32, 64}},
              {"stages", "pipeline stages of key tiles in shared memory", {2, 3, 4}}};
    },
}};

}  // namespace stitch::code
