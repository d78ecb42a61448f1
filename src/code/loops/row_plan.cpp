#include "code/loops/row_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

namespace {

constexpr int64_t most_held = 32;  // elements per thread, in registers

// Enough blocks to fill a GPU: a few per multiprocessor.
int64_t enough_blocks(const GpuSpec& gpu) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(8 * gpu.sms)));
}

int power_above(int64_t count) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
}

std::vector<size_t> by_stride(const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (shape[a] == 1 || shape[b] == 1) return false;
    return strides[a] > strides[b];
  });
  return order;
}

// The layout of most of a concatenated value.
std::vector<int64_t> strides_of_parts(const RegionRequest& request, const Node& node, const Shape& shape) {
  std::map<std::vector<size_t>, int64_t> elements;
  for (ValueId part : node.operands) {
    const Shape& own = request.graph.type(part).shape;
    elements[by_stride(own, storage_strides(request, part))] += element_count(own);
  }
  auto most = std::ranges::max_element(elements, {}, [](const auto& each) { return each.second; });
  std::vector<int64_t> out(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    out[most->first[i]] = stride;
    stride *= shape[most->first[i]];
  }
  return out;
}

}  // namespace

std::vector<int64_t> storage_strides(const RegionRequest& request, ValueId id) {
  for (const auto* places : {&request.reads, &request.weights})
    for (const Place& place : *places)
      if (place.value == id) return place.strides;
  const Shape& shape = request.graph.type(id).shape;
  for (int32_t n : request.region.nodes) {
    const Node& node = request.graph.node(n);
    if (std::ranges::find(node.results, id) == node.results.end()) continue;
    auto family = info(node.op).family;
    if (node.op == Op::permute) {
      std::vector<int64_t> inner = storage_strides(request, node.operands[0]), out;
      for (int64_t dim : node.attributes.integers("dims")) out.push_back(inner[static_cast<size_t>(dim)]);
      return out;
    }
    if (node.op == Op::concat) return strides_of_parts(request, node, shape);
    if (node.op == Op::strided_view) {  // windows: the strides of their source
      std::vector<int64_t> out = node.attributes.integers("strides");
      std::ranges::replace(out, int64_t{0}, element_count(shape));
      return out;
    }
    // Not the pool's own strides, but their order.
    if (family == stitch::Family::pool) return storage_strides(request, node.operands[0]);
    if (family == stitch::Family::pointwise || family == stitch::Family::normalize)
      for (ValueId operand : node.operands)
        if (operand != ValueId::none && request.graph.type(operand).shape == shape)
          return storage_strides(request, operand);
  }
  return contiguous_strides(shape);
}

RowPlan plan_rows(const RegionRequest& request, const Reduction& reduction) {
  RowPlan plan{reduction};
  plan.rows = reduction.rows();
  plan.length = reduction.length();
  const plan::Context& context = request.context;
  // A scan's row is no reduction.
  auto vary = [&](auto of) {
    return context.varies([&](const Graph& at) {
      const auto found = reduction_of(at, reduction.node);
      return found ? of(*found) : -1;
    });
  };
  plan.rows_vary = vary([](const Reduction& of) { return of.rows(); });
  plan.length_varies = vary([](const Reduction& of) { return of.length(); });
  std::vector<int64_t> strides = storage_strides(request, reduction.operand);
  if (reduction.grouped) strides.insert(strides.begin() + 1, strides[1] * reduction.space[2]);
  std::vector<int64_t> kept, reduced;
  int64_t nearest_kept = INT64_MAX, nearest_reduced = INT64_MAX;
  for (size_t d = 0; d < strides.size(); ++d) {
    (reduction.along[d] ? reduced : kept).push_back(strides[d]);
    if (reduction.space[d] == 1) continue;
    int64_t& nearest = reduction.along[d] ? nearest_reduced : nearest_kept;
    nearest = std::min(nearest, strides[d]);
  }
  plan.kept_order = by_stride(reduction.kept_shape(), kept);
  plan.reduced_order = by_stride(reduction.reduced_shape(), reduced);
  plan.column = nearest_kept < nearest_reduced && plan.rows > 1;
  return plan;
}

std::vector<RowPlan> with_width(const RowPlan& plan, int64_t width) {
  std::vector<RowPlan> out;
  if ((plan.column || plan.length_varies) && width > 1) return out;
  Shape reduced = plan.reduction.reduced_shape(), walked;
  for (size_t d : plan.reduced_order) walked.push_back(reduced[d]);
  for (size_t joined : joinable(walked, width)) {
    out.push_back(plan);
    out.back().width = width;
    out.back().joined = joined;
  }
  return out;
}

namespace {

// Few rows: narrower blocks, so that more multiprocessors have one. Each reads as many sectors, partly used,
// but computes less: 24 blocks took 7.3 us for 10 x 384 x 14² of 3 MB (H200).
ByColumns for_every_multiprocessor(ByColumns sharing, const RowPlan& plan, const GpuSpec& gpu) {
  constexpr int least_columns = 4, most_threads = 512;
  constexpr int64_t least_held = 8;
  while (sharing.columns > least_columns && 2 * divided_up(plan.rows, sharing.columns) <= gpu.sms) {
    sharing.columns /= 2;
    if (2 * sharing.lanes * sharing.columns <= most_threads && plan.length > least_held * sharing.lanes)
      sharing.lanes *= 2;
  }
  return sharing;
}

ByColumns fused_columns(const RowPlan& plan, const GpuSpec& gpu) {
  // Wide blocks if there are enough: longer contiguous accesses, fewer partial sectors.
  const bool wide = plan.rows >= 128 * 2 * gpu.sms;
  if (wide && plan.length > most_held && plan.length <= 128) {
    const int lanes = plan.length <= 64 ? 4 : 8;
    return {512 / lanes, lanes};
  }
  if (wide && plan.length > 32 * most_held) return {128, 8};
  // Short columns are one thread's work, longer ones are divided among vertically adjacent threads.
  if (plan.length <= most_held) return {128, 1};
  // Half as many rows, one sector in 16 bits, and twice as many threads each.
  if (plan.length > 32 * most_held && plan.length <= most_short_column)
    return for_every_multiprocessor({16, 64}, plan, gpu);
  return for_every_multiprocessor({32, std::clamp(power_above(divided_up(plan.length, most_held)), 8, 32)},
                                  plan, gpu);
}

ByLanes fused_lanes(const RowPlan& plan, const GpuSpec& gpu) {
  const int64_t enough_threads = int64_t{4} * gpu.threads_per_sm * gpu.sms;
  ByLanes out{std::clamp(power_above(plan.vectors()), 1, 32)};
  // With enough rows for all blocks: up to four vectors per thread, for more bytes in flight.
  while (out.lanes > 8 && plan.vectors() < 4 * out.lanes && plan.rows * out.lanes / 2 >= enough_threads)
    out.lanes /= 2;
  return out;
}

}  // namespace

void plan_fused(RowPlan& plan, const GpuSpec& gpu) {
  if (plan.length_varies) {
    plan.sharing =
        plan.column ? std::variant<ByLanes, ByBlock, ByColumns, ByTeam>(ByColumns{32, 8}) : ByLanes{32};
    plan.held = 0;
    return;
  }
  if (plan.column)
    plan.sharing = fused_columns(plan, gpu);
  else if (plan.length <= 1024)
    plan.sharing = fused_lanes(plan, gpu);
  else
    plan.sharing = ByBlock{std::clamp(power_above(divided_up(plan.length, 16)), 128, 1024)};
  const int64_t vectors = divided_up(plan.vectors(), plan.lanes());
  plan.held = vectors * plan.width <= most_held ? vectors : 0;
}

bool plan_transposed(RowPlan& plan) {
  if (plan.column || plan.length_varies || plan.length > most_transposed_length) return false;
  const int lanes = std::clamp(power_above(divided_up(plan.length, 16)), 1, 16);
  plan.sharing = ByLanes{lanes, transposed_rows * lanes, true};
  plan.held = divided_up(plan.vectors(), lanes);
  return true;
}

// Measured on an H200: 16 channels per block, so that pixels are whole sectors, and two
// blocks per multiprocessor. 10 x 64 x 14² in fp16: 3.2 us instead of 6.4 with blocks of 4 channels; 10 x 192
// x 28²: 5.8 instead of 10 by stages. 10 x 144 x 56² take 25 with blocks of 8 channels and 18 by stages.
bool plan_cluster(RowPlan& plan, int64_t values, const GpuSpec& gpu) {
  constexpr int columns = 16, most_cluster = 8;
  constexpr int64_t least_length = 256, most_held_by_cluster = 32;
  if (!gpu.architecture.clusters() || !plan.column || plan.length_varies || plan.length <= least_length)
    return false;
  const int64_t groups = divided_up(plan.rows, columns);
  for (int threads : {256, 512}) {
    // The other half of a block's registers is for computing.
    const int64_t most = std::min(most_held_by_cluster, gpu.registers_per_sm / (2 * threads) / values);
    for (int cluster = most_cluster; cluster > 1; cluster /= 2) {
      const int64_t held = divided_up(plan.length, int64_t{threads} / columns * cluster);
      const bool smallest =
          cluster == 2 || divided_up(plan.length, int64_t{threads} / columns * cluster / 2) > most;
      if (held > most) break;
      if (groups * cluster > 2 * gpu.sms && !smallest) continue;
      plan.sharing = ByColumns{columns, threads / columns, 1, 1, cluster};
      plan.held = held;
      plan.width = 1;
      return true;
    }
  }
  return false;
}

bool plan_team(RowPlan& plan, int64_t element_bytes, const GpuSpec& gpu) {
  if (plan.column || plan.length_varies || plan.length < 8192 || plan.rows < 2) return false;
  // Blocks fill a multiprocessor's shared memory, at least three of them: while one waits for its team,
  // others move their rows. Rows that fill whole blocks need no guards, which would delay loads.
  const int64_t most_bytes =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(gpu.shared_per_block / 3)));
  const int64_t least_bytes = most_bytes / 8;
  const int64_t threads = ByTeam::threads;
  int64_t each = element_bytes * plan.width * threads;  // bytes of one vector per thread
  int64_t spread = plan.rows * plan.length * element_bytes / std::max(4 * gpu.sms, 1);
  int64_t most = std::max<int64_t>(std::clamp(spread, least_bytes, most_bytes) / each, 1);
  double best = 0;
  ByTeam team{0};
  for (int64_t held = most; held >= std::max<int64_t>(most / 2, 1); --held) {
    int64_t resident =
        std::min<int64_t>(gpu.shared_per_block / (held * each + team_extra), 4);  // or registers are few
    int64_t blocks = divided_up(plan.vectors(), held * threads);
    double filled = static_cast<double>(plan.vectors()) / static_cast<double>(blocks * threads);
    bool whole = plan.vectors() == blocks * threads * held;
    double score = filled * static_cast<double>(resident) * (whole ? 1.2 : 1.0);
    if (score < best) continue;  // of equals, more blocks
    best = score;
    plan.held = held;
    team = {blocks, resident};
  }
  plan.sharing = team;
  return team.blocks > 1 && team.blocks <= team.resident * gpu.sms / 2;
}

bool team_pays(const RowPlan& plan, Op op, const GpuSpec& gpu) {
  // A team as large as a wave loads, waits, then stores, and memory idles in between: layer_norm of 16 rows
  // of 16 MB took 496 us on an H200, by stages 307. Three teams at a time overlap.
  const int64_t team = plan.team()->blocks, at_a_time = plan.team()->resident * gpu.sms;
  if (op == Op::batch_norm || plan.rows * team <= 2 * at_a_time) return false;
  return plan.length >= 16 * 1024 && team * 3 <= at_a_time;
}

namespace {

// Blocks per row if there are too few rows. A part needs some vectors per thread to be worth its launch.
int64_t parts_of(const RowPlan& plan, const GpuSpec& gpu) {
  const int64_t enough = enough_blocks(gpu);
  if (plan.length_varies || plan.blocks() >= enough) return 1;
  const int64_t most = std::max<int64_t>(plan.vectors() / (4 * plan.lanes()), 1);
  return std::clamp<int64_t>(enough / plan.blocks(), 1, std::min<int64_t>(most, 1024));
}

}  // namespace

void plan_parts(RowPlan& plan, const GpuSpec& gpu) {
  plan.held = 0;
  if (plan.length_varies) {
    plan_fused(plan, gpu);
  } else if (plan.column) {
    plan.sharing = ByColumns{32, std::clamp(power_above(divided_up(plan.length, 8)), 1, 8)};
    std::get<ByColumns>(plan.sharing).parts = parts_of(plan, gpu);
  } else if (plan.vectors() <= 128 || plan.rows >= 16 * enough_blocks(gpu)) {
    plan.sharing = fused_lanes(plan, gpu);
  } else {
    plan.sharing = ByBlock{256};
    std::get<ByBlock>(plan.sharing).parts = parts_of(plan, gpu);
  }
}

bool plan_parts_across(RowPlan& plan, int64_t across, const GpuSpec& gpu) {
  if (!plan.column || plan.rows_vary || plan.length_varies || plan.kept_order.empty()) return false;
  if (plan.reduction.kept_shape()[plan.kept_order.back()] % across != 0) return false;
  constexpr int threads = 256;
  plan.held = 0;
  // No idle threads if possible: 12 vectors of channels are 12 columns of 16 lanes.
  const int64_t vectors = plan.rows / across, slices = divided_up(vectors, 32);
  const int columns = static_cast<int>(divided_up(vectors, slices));
  plan.sharing =
      ByColumns{columns, static_cast<int>(std::bit_floor(static_cast<unsigned>(threads / columns))), across};
  // A few blocks per multiprocessor, with eight loads in flight per thread: each combines its lanes' results
  // once.
  const int64_t pieces = divided_up(plan.length, few_at_once * plan.lanes()),
                parts = std::max<int64_t>(4 * gpu.sms / plan.blocks(), 1);
  std::get<ByColumns>(plan.sharing).parts = divided_up(pieces, divided_up(pieces, parts));
  return true;
}

int RowPlan::lanes() const {
  if (columns()) return columns()->lanes;
  return lanes_of_warp() ? lanes_of_warp()->lanes : threads();
}

int RowPlan::threads() const {
  if (columns()) return columns()->columns * columns()->lanes;
  if (lanes_of_warp()) return lanes_of_warp()->threads;
  return block() ? block()->threads : ByTeam::threads;
}

int64_t RowPlan::parts() const {
  if (columns()) return columns()->parts;
  return block() ? block()->parts : 1;
}

int64_t RowPlan::blocks() const {
  if (team()) return rows * team()->blocks;
  if (columns()) return divided_up(rows / columns()->across, columns()->columns) * cluster();
  return divided_up(rows, threads() / lanes());
}

bool RowPlan::overhangs() const {
  if (columns()) return rows_vary || rows / columns()->across % columns()->columns != 0;
  return lanes_of_warp() && (rows_vary || rows % (threads() / lanes()) != 0);
}

}  // namespace stitch::code::loops
