// attention.few: attention of few queries, bound by reading k and v once (kernels/attention_few.h). FP32 on
// the CUDA cores, exact, for any stored type; any mask, heads of at most 512 features. Heads that share k and
// v are rows of one block, and blocks share the keys until they fill the GPU: a decoding step, or a few
// learned queries over many keys. A cache and the tensor appended to it are read in place. Chosen for up to 8
// queries (rows of a 16-bit k: 4, beyond which tensor cores are faster), and for up to 64 where tiles of 64
// queries would leave most of the GPU idle. Knobs: warps, rows, splits, stages.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "code/names.h"
#include "code/products/attention/attention.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "program/include/stitch/kernels/shared_memory.h"

namespace stitch::code {

namespace {

constexpr std::array few_ops = {Op::attention};
constexpr int64_t widest_few = 512, most_splits = 256;

int64_t ceiling(int64_t count, int64_t by) { return (count + by - 1) / by; }

// As in kernels/attention_few.h.
struct FewTiles {
  int64_t rows = 1, warps = 4, ahead = 4, group = 1, splits = 1, stages = 1;
  int64_t run = 4;  // adjacent elements read at once by a lane
  bool runs = false;
  int64_t tiles = 1;  // of rows, over all heads
  int64_t lanes = 1, chunks = 1;

  int64_t shared_bytes() const {
    return shared_memory::few_attention(warps, stages, ahead, chunks) +
           4 * warps * rows * lanes * chunks * run;
  }
  int64_t resident(const GpuSpec& gpu) const {
    constexpr int64_t by_registers = 16,
                      reserved =
                          2 *
                          1024;  // warps with 128 registers per thread; shared memory of the driver and ours
    return std::max<int64_t>(std::min(by_registers / warps, gpu.shared_per_sm / (shared_bytes() + reserved)),
                             1);
  }
};

// 16 bytes of k and v per lane, if contiguous.
void settle_runs(FewTiles& out, const Attention& a) {
  auto all_in_runs = [&](int64_t count) {
    bool in_runs = lies_in_runs(a.q.at, "i", a.width, count);
    for (const auto& [index, width] : {std::pair{&a.k, a.width}, {&a.v, a.value_width}})
      in_runs = in_runs && lies_in_runs(index->at, "i", width, count);
    for (const auto& [tail, width] : {std::pair{&a.k_tail, a.width}, {&a.v_tail, a.value_width}})
      in_runs = in_runs && (!*tail || lies_in_runs((*tail)->at, "i", width, count));
    return in_runs;
  };
  const int64_t k_bytes = size_of(a.k.place->dtype), v_bytes = size_of(a.v.place->dtype);
  out.run = k_bytes == 2 && v_bytes == 2 && all_in_runs(8) ? 8 : 4;
  out.runs = out.run == 8 || all_in_runs(4);
  // Whether rounds are prefetched; how far is decided below.
  if (out.runs && out.run * k_bytes == 16 && out.run * v_bytes == 16) out.stages = 2;
}

FewTiles few_tiles(const RegionRequest& request, const Attention& a) {
  FewTiles out;
  const GpuSpec& gpu = request.context.gpu;
  settle_runs(out, a);
  const bool copies = out.stages > 1;
  const int64_t runs = ceiling(std::max(a.width, a.value_width), out.run);
  while (out.lanes < runs && out.lanes < 32) out.lanes *= 2;
  out.chunks = ceiling(runs, out.lanes);
  out.group = heads_that_share(request, a);
  const int64_t all_rows = out.group * a.queries, numbers = out.chunks * out.run;
  // Registers of a thread: q and the sums of its rows, k and v of its keys.
  const int64_t most_rows = numbers <= 4 ? 8 : numbers <= 8 ? 4 : 2;
  while (out.rows < most_rows && out.rows < all_rows) out.rows *= 2;
  out.rows = request.region.choice("rows", out.rows);
  out.warps = request.region.choice("warps", out.warps);
  out.ahead = numbers <= 4 || (numbers <= 8 && out.rows <= 2) ? 4 : 2;
  if (!copies && numbers <= 4 && out.rows <= 2) out.ahead = 8;
  out.tiles = a.heads / out.group * ceiling(all_rows, out.rows);

  const int64_t seen = a.causal ? std::min(a.queries, a.keys) : a.keys;
  const int64_t rounds = ceiling(seen, out.warps * (32 / out.lanes) * out.ahead);  // per block
  if (copies) {
    // About 16 KB per warp, 190 KB per multiprocessor, where available.
    constexpr int64_t of_warp = 16 * 1024, blocks = 3;
    const int64_t round = shared_memory::few_attention(1, 2, out.ahead, out.chunks) / 2;
    out.stages = request.region.choice("stages", std::clamp<int64_t>(of_warp / round, 3, 8));
    out.stages = std::clamp<int64_t>(out.stages, 2, std::max<int64_t>(rounds, 2));
    while (out.stages > 2 && (blocks * out.shared_bytes() > gpu.shared_per_sm ||
                              out.shared_bytes() + shared_memory::declared > gpu.shared_per_block))
      --out.stages;
    if (out.shared_bytes() + shared_memory::declared > gpu.shared_per_block) out.stages = 1;
  }
  const int64_t chosen = even_splits(out.tiles, out.resident(gpu) * gpu.sms, rounds);
  const int64_t splits =
      std::clamp<int64_t>(request.region.choice("splits", chosen), 1, std::min(seen, most_splits));
  out.splits = ceiling(seen, ceiling(seen, splits));
  return out;
}

// Heads of q per head of k, also if views before the region repeat it.
int64_t heads_of_key(const Graph& graph, const Node& attention) {
  const std::vector<int32_t> makers = producers(graph);
  const Shape &q = graph.type(attention.operands[0]).shape, &k = graph.type(attention.operands[1]).shape;
  int64_t heads = q.size() > 2 ? q.end()[-3] / k.end()[-3] : 1;
  for (ValueId value = attention.operands[1];;) {
    const int32_t maker = makers[index_of(value)];
    if (maker < 0) return heads;
    const Node& node = graph.node(maker);
    if (!is_view(node.op)) return heads;
    if (node.op == Op::expand)
      heads *= graph.type(value).elements() / graph.type(node.operands[0]).elements();
    value = node.operands[0];
  }
}

struct FewRegion {
  Parts parts;
  Attention attention;
};
Result<FewRegion> few_region(const RegionRequest& request) {
  FewRegion out;
  STITCH_TRY(out.parts, parts_of(request.graph, request.region, few_ops, true));
  STITCH_TRY(out.attention, attention_of(request, out.parts));
  return out;
}

Result<void> accepts_attention_few(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_TRY(Parts parts, parts_of(graph, region, few_ops, true));
  const Node& node = *parts.product;
  if (graph.type(node.results[0]).dtype == DType::f64) return not_for(region, "sums in f32");
  if (std::max(graph.type(node.operands[0]).shape.back(), graph.type(node.operands[2]).shape.back()) >
      widest_few)
    return not_for(region, format("takes heads of at most {} features", widest_few));
  for (ValueId operand : node.operands)
    if (operand != ValueId::none && graph.type(operand).elements() == 0)
      return not_for(region, "attends to something");
  STITCH_TRY(FewRegion made, few_region(request_alone(context, region)));
  return accepts_tails(region, made.attention);
}

Result<void> accepts_storage_attention_few(const plan::Context& context, const plan::Plan& plan,
                                           const plan::Region& region) {
  for (ValueId id : region.reads)
    if (plan.storage[index_of(id)].dtype != context.graph.type(id).dtype)
      return not_for(region, "reads what the graph has");
  return {};
}

bool suits_attention_few(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  auto made = few_region(request_alone(context, region));
  if (!made) return false;
  const Attention& a = made->attention;
  // On tensor cores, 16-bit products take as long for 16 rows as for one.
  if (size_of(a.k.place->dtype) == 2) return a.queries * heads_of_key(context.graph, *a.node) <= 4;
  if (a.queries <= 8) return true;
  return a.queries <= 64 && a.keys >= 256 && 4 * a.heads * ceiling(a.queries, 64) <= context.gpu.sms;
}

plan::Rate rate_attention_few(const plan::Context& context, const plan::Region&) {
  return {0.3 * context.gpu.fp32, 0.8, 1};
}

Result<RegionCode> write_attention_few(const RegionRequest& request) {
  STITCH_TRY(FewRegion made, few_region(request));
  const Attention& a = made.attention;
  STITCH_TRY(const Attention decided, deciding_attention(request, few_ops, true));
  FewTiles tiles = few_tiles(request.deciding(), decided);
  // Blocks that share keys count each other in memory that is made once.
  const int32_t node = request.graph.number_of(*a.node);
  if (request.context.varies([&](const Graph& at) {
        const Shape& shape = at.type(at.node(node).operands[0]).shape;
        return Shape(shape.begin(), shape.end() - 1);
      }))
    tiles.splits = 1;
  STITCH_TRY(Epilogue epilogue, epilogue_of(request, made.parts, 0));
  std::string more = format(
      "  static constexpr int rows = {}, warps = {}, ahead = {}, group = {}, splits = {}, stages = {}, run = "
      "{};\n"
      "  static constexpr bool runs = {};\n",
      tiles.rows, tiles.warps, tiles.ahead, tiles.group, tiles.splits, tiles.stages, tiles.run, tiles.runs);
  Signature signature("enqueue_" + request.name);
  for (const Indexed* operand : {&a.q, &a.k, &a.v}) signature.read(*operand->place);
  for (const auto* operand : {&a.k_tail, &a.v_tail, &a.mask})
    if (*operand) signature.read(*(*operand)->place);
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(*a.result.view.place);

  const std::string heads = type_name(request.name, "Heads");
  std::string idea = format("{} neighbours of a key's row a lane, FP32 on the CUDA cores.",
                            tiles.run == 8 ? "Eight" : "Four");
  if (tiles.group > 1) idea += format(" A block has {} heads of q that share k and v.", tiles.group);
  if (tiles.splits > 1) idea += format(" {} blocks share the keys; the last one combines.", tiles.splits);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/attention_few.h\"\n";
  code.source =
      format("// {}{}\n// {}\n{}\n", describe(a), epilogue.then(), idea, heads_struct(a, heads, more, true));
  code.source += epilogue.text();
  std::string partial = "nullptr", finished = "nullptr";
  if (tiles.splits > 1) {
    partial = "static_cast<float*>(workspace)";
    signature.workspace();
    code.workspace_bytes = 4 * tiles.tiles * tiles.splits * tiles.rows * (ceiling(a.value_width, 4) * 4 + 2);
    finished = request.name + "_finished";
    const std::string function = "clear_" + request.name, comment = format("({}): blocks", tiles.tiles);
    code.packed.push_back({.name = finished,
                           .type = "unsigned",
                           .element_bytes = 4,
                           .elements = tiles.tiles,
                           .fill = PackCall{function, {finished}},
                           .changes = true});
    Signature clear(function);
    clear.add(Signature::writes, "unsigned*", "finished", comment);
    code.declaration += clear.declaration();
    code.source += format("{} {{\n  return stitch::clear_finished(finished, {}, stream);\n}}\n\n",
                          clear.head(), tiles.tiles);
    signature.add(Signature::packs, "unsigned*", finished, comment);
  }
  auto pointer = [](const std::optional<Indexed>& operand) {
    return operand ? operand->place->pointer : std::string("nullptr");
  };
  code.source += format(
      "{} {{\n  return stitch::enqueue_attention_of_few(\n      \"{}\", {}{{}}, {}, {}, {}, {}, {}, {}, {}, "
      "{}, "
      "{}, "
      "{}, stream);\n}}\n",
      signature.head(), request.name, heads, a.q.place->pointer, a.k.place->pointer, a.v.place->pointer,
      pointer(a.k_tail), pointer(a.v_tail), pointer(a.mask), a.result.view.place->pointer, epilogue.construct,
      partial, finished);
  code.declaration += signature.declaration();
  code.arguments = signature.arguments();
  return code;
}

}  // namespace

constinit const ProductTechnique attention_few{{
    .name = "attention.few",
    .idea = "few queries in FP32 on the CUDA cores, keys shared by many blocks and read once",
    .kind = plan::Kind::attention,
    .accepts = accepts_attention_few,
    .write = write_attention_few,
    .rate = rate_attention_few,
    .suits = suits_attention_few,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"warps", "warps per block", {2, 4, 8}},
              {"rows", "queries per block, over all heads that share k", {1, 2, 4, 8}},
              {"splits", "blocks that share the keys of a head", {1, 2, 4, 8, 16, 32, 64, 128}},
              {"stages", "pipeline stages of keys in shared memory", {2, 3, 4, 6, 8}}};
    },
    .accepts_storage = accepts_storage_attention_few,
}};

}  // namespace stitch::code
