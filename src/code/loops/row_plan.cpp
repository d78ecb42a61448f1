#include "code/loops/row_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

namespace {

// Blocks that keep the largest GPUs of today busy: a few for each of 132 multiprocessors.
constexpr int64_t enough_blocks = 1024;
constexpr int64_t most_held = 32;  // elements in a thread's registers
constexpr int64_t multiprocessors = 132;
constexpr int64_t enough_threads = 4 * 2048 * multiprocessors;

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

// Of a value that is put together from parts, as most of it lies.
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
    const Node& node = request.graph.nodes[static_cast<size_t>(n)];
    if (std::ranges::find(node.results, id) == node.results.end()) continue;
    auto family = info(node.op).family;
    if (node.op == Op::permute) {
      std::vector<int64_t> inner = storage_strides(request, node.operands[0]), out;
      for (int64_t dim : node.attributes.integers("dims")) out.push_back(inner[static_cast<size_t>(dim)]);
      return out;
    }
    if (node.op == Op::concat) return strides_of_parts(request, node, shape);
    // Not the strides of what it makes, but in their order.
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
  if (plan.column && width > 1) return out;
  Shape reduced = plan.reduction.reduced_shape(), walked;
  for (size_t d : plan.reduced_order) walked.push_back(reduced[d]);
  for (size_t joined : joinable(walked, width)) {
    out.push_back(plan);
    out.back().width = width;
    out.back().joined = joined;
  }
  return out;
}

std::optional<RowPlan> with_packed_rows(const RowPlan& plan, int64_t across) {
  if (!plan.column || plan.kept_order.empty()) return std::nullopt;
  if (plan.reduction.kept_shape()[plan.kept_order.back()] % across != 0) return std::nullopt;
  RowPlan out = plan;
  out.across = across;
  return out;
}

void plan_fused(RowPlan& plan) {
  if (plan.column) {
    // Short columns are one thread's work, longer ones are shared by threads one above the other.
    plan.lanes =
        plan.length <= most_held ? 1 : std::clamp(power_above(divided_up(plan.length, most_held)), 8, 32);
    plan.columns = plan.lanes == 1 ? 128 : 32;
    // Wide blocks, where there are enough: memory likes longer stretches, and edges that share a sector are
    // few.
    const bool wide = plan.rows >= 128 * 2 * multiprocessors;
    if (wide && plan.length > most_held && plan.length <= 128) {
      plan.lanes = plan.length <= 64 ? 4 : 8;
      plan.columns = 512 / plan.lanes;
    } else if (wide && plan.length > 32 * most_held) {
      plan.lanes = 8;
      plan.columns = 128;
    }
    plan.threads = plan.lanes * plan.columns;
  } else if (plan.length <= 1024) {
    plan.lanes = std::clamp(power_above(plan.packs()), 1, 32);
    // Where there are rows for everybody: up to four packs a thread, so that more is on the way at once.
    while (plan.lanes > 8 && plan.packs() < 4 * plan.lanes && plan.rows * plan.lanes / 2 >= enough_threads)
      plan.lanes /= 2;
    plan.threads = 128;
  } else {
    plan.lanes = plan.threads = std::clamp(power_above(divided_up(plan.length, 16)), 128, 1024);
  }
  int64_t packs = divided_up(plan.packs(), plan.lanes);
  plan.held = packs * plan.width <= most_held ? packs : 0;
}

bool plan_turned(RowPlan& plan) {
  if (plan.column || plan.length > most_turned_length) return false;
  plan.turned = true;
  plan.lanes = std::clamp(power_above(divided_up(plan.length, 16)), 1, 16);
  plan.threads = turned_rows * plan.lanes;
  plan.held = divided_up(plan.packs(), plan.lanes);
  return true;
}

bool plan_team(RowPlan& plan, int64_t element_bytes) {
  if (plan.column || plan.length < 8192 || plan.rows < 2) return false;
  plan.lanes = plan.threads = 256;
  // Blocks of a multiprocessor fill its shared memory, at least three of them: while one waits for its team,
  // others move their rows. Rows that are whole blocks need no guards, which loads would have to wait for.
  constexpr int64_t most_bytes = 64 * 1024, least_bytes = 8 * 1024;
  int64_t each = element_bytes * plan.width * plan.threads;  // bytes of a pack a thread
  int64_t spread = plan.rows * plan.length * element_bytes / (4 * multiprocessors);
  int64_t most = std::max<int64_t>(std::clamp(spread, least_bytes, most_bytes) / each, 1);
  double best = 0;
  for (int64_t held = most; held >= std::max<int64_t>(most / 2, 1); --held) {
    int64_t resident = std::min<int64_t>(team_room / (held * each + team_extra), 4);  // or registers are few
    int64_t team = divided_up(plan.packs(), held * plan.threads);
    double filled = static_cast<double>(plan.packs()) / static_cast<double>(team * plan.threads);
    bool whole = plan.packs() == team * plan.threads * held;
    double score = filled * static_cast<double>(resident) * (whole ? 1.2 : 1.0);
    if (score < best) continue;  // of equals, more blocks
    best = score;
    plan.held = held;
    plan.team = team;
    plan.resident = resident;
  }
  return plan.team > 1 && plan.team <= plan.resident * multiprocessors / 2;
}

bool team_pays(const RowPlan& plan, Op op) {
  // A team of a whole wave loads, waits, then stores, and the memory rests in between: layer_norm of 16 rows
  // of 16 MB took 496 us on an H200, by stages 307. Three teams at a time are at different points.
  const int64_t at_a_time = plan.resident * multiprocessors;
  if (op == Op::batch_norm || plan.rows * plan.team <= 2 * at_a_time) return false;
  return plan.length >= 16 * 1024 && plan.team * 3 <= at_a_time;
}

void plan_parts(RowPlan& plan) {
  plan.held = 0;
  if (plan.column && plan.across > 1) {
    plan.threads = 256;
    plan.columns = std::clamp(power_above(plan.rows / plan.across), 1, 32);
    plan.lanes = plan.threads / plan.columns;
  } else if (plan.column) {
    plan.columns = 32;
    plan.lanes = std::clamp(power_above(divided_up(plan.length, 8)), 1, 8);
    plan.threads = 32 * plan.lanes;
  } else if (plan.packs() <= 128 || plan.rows >= 16 * enough_blocks) {
    plan.lanes = std::clamp(power_above(plan.packs()), 1, 32);
    plan.threads = 128;
  } else {
    plan.lanes = plan.threads = 256;
  }
  // A part should be worth its start: some packs for each of its threads.
  int64_t most = std::max<int64_t>(plan.packs() / (4 * plan.lanes), 1);
  plan.parts = 1;
  if (plan.blocks() < enough_blocks && (plan.whole_block() || plan.column))
    plan.parts = std::clamp<int64_t>(enough_blocks / plan.blocks(), 1, std::min<int64_t>(most, 1024));
}

int64_t RowPlan::blocks() const {
  if (team > 1) return rows * team;
  if (column) return divided_up(rows / across, columns);
  return divided_up(rows, threads / lanes);
}

bool RowPlan::overhangs() const {
  if (whole_block()) return false;
  return column ? rows / across % columns != 0 : rows % (threads / lanes) != 0;
}

}  // namespace stitch::code::loops
