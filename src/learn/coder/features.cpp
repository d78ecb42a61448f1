#include "learn/coder/features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "learn/grpo/draw.h"
#include "plan/estimate.h"

namespace stitch::learn {

namespace {

constexpr int technique_buckets = 64, knob_buckets = 24, kinds = 6;
constexpr std::array<std::string_view, 6> bottlenecks = {"launch",  "host",    "memory",
                                                         "compute", "latency", "occupancy"};

// Fields are written one after the other; each has its place because each is always written.
class Row {
 public:
  void number(double value) {
    out.push_back(static_cast<float>(std::isfinite(value) ? std::clamp(value, -8.0, 8.0) : 0));
  }
  void flag(bool value) { number(value ? 1 : 0); }
  void one_of(int which, int count) {
    for (int i = 0; i < count; ++i) flag(i == which);
  }
  void bucket(std::string_view name, int count, double value = 1) {
    const int which = static_cast<int>(stable_hash(name) % static_cast<uint64_t>(count));
    for (int i = 0; i < count; ++i) number(i == which ? value : 0);
  }
  std::vector<float> out;
};

double size(double value) { return std::log2(std::max(value, 1.0)) / 8; }
double ratio(double value, double to) { return value > 0 && to > 0 ? std::log2(value / to) / 2 : 0; }

// The node that the region is about: its product, convolution, attention, recurrence; else its largest.
const Node& main_node(const Graph& graph, const plan::Region& region) {
  const Node* largest = nullptr;
  double most = -1;
  for (int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    const Cost each = cost(graph, node);
    const double weight = each.matrix_flops * 1e6 + each.bytes;
    if (weight > most) most = weight, largest = &node;
  }
  require(largest != nullptr, "a region has nodes");
  return *largest;
}

// Ranks differ: the last dimensions, innermost first, and the product of the others.
void add_shape(Row& row, const TensorType* type) {
  constexpr int dimensions = 4;
  double others = 1;
  for (int i = 0; i < dimensions; ++i) {
    const int64_t at = type ? type->rank() - 1 - i : -1;
    row.number(at >= 0 ? size(static_cast<double>(type->shape[static_cast<size_t>(at)])) : 0);
  }
  if (type)
    for (int64_t i = 0; i < type->rank() - dimensions; ++i)
      others *= static_cast<double>(type->shape[static_cast<size_t>(i)]);
  row.number(size(others));
  const int64_t inner = type && type->rank() > 0 ? type->shape.back() : 0;
  row.flag(inner % 8 == 0);
  row.flag(inner % 128 == 0);
  row.number(type ? size(static_cast<double>(type->elements())) / 2 : 0);
}

int dtype_class(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::bf16: return 2;
    default: return 3;
  }
}

void add_gpu(Row& row, const GpuSpec& gpu) {
  row.number(gpu.sms / 128.0);
  row.number(std::log2(std::max(gpu.bandwidth, 1.0) / 1e12));
  row.number(std::log2(std::max(gpu.tensor_fp16, 1.0) / 1e14));
  row.number(std::log2(std::max(gpu.fp32, 1.0) / 1e13));
  row.number(gpu.l2 / 50e6);
  row.number(static_cast<double>(gpu.shared_per_block) / 200e3);
}

void add_work(Row& row, const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  const plan::Work work = plan::work_of(context.graph, plan, region);
  row.number(std::log2(std::max(work.bytes, 1.0) / 1e6) / 8);
  row.number(std::log2(std::max(work.flops, 1.0) / 1e8) / 8);
  row.number(std::log2(std::max(work.matrix, 1.0) / 1e8) / 8);
  row.number(ratio(work.flops / std::max(work.bytes, 1.0), context.gpu.fp32 / context.gpu.bandwidth) / 2);
  double results = 0;
  for (ValueId id : region.writes) results += static_cast<double>(context.graph.type(id).elements());
  row.number(std::log2(std::max(results, 1.0) / (16384.0 * context.gpu.sms)) / 4);  // waves of 128 x 128
  row.number(static_cast<double>(region.nodes.size()) / 8);
  row.number(static_cast<double>(region.reads.size()) / 4);
  row.number(static_cast<double>(region.writes.size()) / 4);
}

// Convolutions' strides and groups, recurrences' directions: whatever small numbers say how.
void add_attributes(Row& row, const Graph& graph, const Node& node) {
  constexpr int places = 8;
  std::array<double, places> sums{};
  for (const auto& [key, value] : node.attributes) {
    double number = 0;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      number = list->empty() ? 0 : static_cast<double>(list->back());
    else if (const auto* integer = std::get_if<int64_t>(&value))
      number = static_cast<double>(*integer);
    else if (const auto* flag = std::get_if<bool>(&value))
      number = *flag ? 1 : 0;
    sums[stable_hash(key) % places] += std::log2(1 + std::abs(number)) / 4;
  }
  for (double sum : sums) row.number(sum);
  row.bucket(info(node.op).name, 16);
  row.flag(node.operands.size() > 2 && node.operands[2] != ValueId::none);
  const bool weight = node.operands.size() > 1 && node.operands[1] != ValueId::none;
  row.flag(weight && graph[node.operands[1]].has_data());
}

void add_neighbours(Row& row, const Graph& graph, const plan::Plan& plan, const plan::Region& region) {
  std::array<bool, kinds> before{}, behind{};
  for (const plan::Region& other : plan.regions) {
    if (&other == &region) continue;
    const auto kind = static_cast<size_t>(plan::kind_of(graph, other));
    for (ValueId id : region.reads) before[kind] |= std::ranges::find(other.writes, id) != other.writes.end();
    for (ValueId id : region.writes) behind[kind] |= std::ranges::find(other.reads, id) != other.reads.end();
  }
  for (bool each : before) row.flag(each);
  for (bool each : behind) row.flag(each);
}

void add_storage(Row& row, const plan::Plan& plan, const std::vector<ValueId>& values) {
  bool half = false, moved = false;
  for (ValueId id : values) {
    const plan::Storage& storage = plan.storage[index_of(id)];
    half |= storage.dtype == DType::f16 || storage.dtype == DType::bf16;
    moved |= !storage.order.empty();
  }
  row.flag(half);
  row.flag(moved);
}

// Which technique and offer, wherever one stands in a row.
void add_way(Row& row, const Way& way) {
  row.bucket(way.technique->name(), technique_buckets);
  row.one_of(static_cast<int>(way.offer.arithmetic), 4);
  row.one_of(static_cast<int>(way.offer.order), 2);
}

void add_estimate(Row& row, const plan::RegionEstimate& parts, double best) {
  row.number(ratio(parts.seconds(), best));
  row.number(ratio(parts.memory + 1e-9, best));
  row.number(ratio(parts.compute + 1e-9, best));
  row.number(ratio(parts.rearranging + 1e-9, best));
  row.number(ratio(parts.launch + 1e-9, best));
}

// The value of a knob, or none of its own.
void add_value(Row& row, const plan::Knob& knob, size_t rank, std::optional<int64_t> value) {
  row.bucket(knob.name, knob_buckets);
  row.flag(!value);
  row.number(value ? std::log2(1.0 + static_cast<double>(*value)) / 4 : 0);
  row.number(static_cast<double>(rank) / static_cast<double>(knob.values.size()));
  row.flag(knob.recompiles);
  // Each value in a bucket of its own: "proposal 3" is no larger than "proposal 2".
  row.bucket(value ? format("{}={}", knob.name, *value) : std::string("own"), knob_buckets);
}

void add_chosen(Row& row, const plan::Region& region) {
  std::array<double, knob_buckets> values{};
  for (const auto& [knob, value] : region.choices)
    values[stable_hash(knob) % knob_buckets] += std::log2(2.0 + static_cast<double>(value)) / 4;
  for (double value : values) row.number(value);
}

constexpr int way_only = 3 + 4 + 5 + 2, value_only = knob_buckets + 4 + knob_buckets + 2;

void add_zeros(Row& row, int count) {
  for (int i = 0; i < count; ++i) row.number(0);
}

}  // namespace

RegionFeatures::RegionFeatures(const plan::Context& context, const plan::Plan& plan, size_t region,
                               const Feedback* feedback)
    : context_(context), plan_(plan), region_(plan.regions[region]) {
  if (feedback) feedback_ = *feedback;
  const Graph& graph = context.graph;
  const Node& node = main_node(graph, region_);
  auto operand = [&](size_t i) {
    return i < node.operands.size() && node.operands[i] != ValueId::none ? &graph.type(node.operands[i])
                                                                         : nullptr;
  };
  Row row;
  row.number(1);
  row.one_of(static_cast<int>(plan::kind_of(graph, region_)), kinds);
  row.one_of(static_cast<int>(context.numerics), 4);
  row.one_of(dtype_class(graph.type(node.results[0]).dtype), 4);
  add_shape(row, &graph.type(node.results[0]));
  add_shape(row, operand(0));
  add_shape(row, operand(1));
  add_attributes(row, graph, node);
  add_work(row, context, plan, region_);
  add_storage(row, plan, region_.reads);
  add_storage(row, plan, region_.writes);
  add_neighbours(row, graph, plan, region_);
  add_gpu(row, context.gpu);
  row.flag(feedback_.has_value());
  const double estimated = plan::estimate(context, plan, region_).seconds();
  row.number(feedback_ ? ratio(feedback_->seconds, estimated) : 0);
  const auto found = std::ranges::find(bottlenecks, feedback_ ? feedback_->bottleneck : std::string());
  row.one_of(static_cast<int>(found - bottlenecks.begin()), static_cast<int>(bottlenecks.size()));
  shared_ = std::move(row.out);
}

std::vector<float> RegionFeatures::row(const std::vector<float>& option) const {
  std::vector<float> out = shared_;
  out.insert(out.end(), option.begin(), option.end());
  return out;
}

std::vector<float> RegionFeatures::of_ways(const std::vector<Way>& ways,
                                           const plan::Catalogue& catalogue) const {
  std::vector<plan::RegionEstimate> estimates;
  double best = INFINITY;
  for (const Way& way : ways) {
    estimates.push_back(plan::estimate(context_, plan_, with_way(context_, region_, way)));
    best = std::min(best, estimates.back().seconds());
  }
  std::vector<float> out;
  for (size_t i = 0; i < ways.size(); ++i) {
    const Way& way = ways[i];
    const plan::Region changed = with_way(context_, region_, way);
    const bool now = way.technique == region_.technique && way.offer == region_.offer;
    Row option;
    option.flag(true);
    add_way(option, way);
    add_chosen(option, changed);
    option.flag(now);
    option.flag(way.technique->suits(context_, region_, way.offer));
    const auto& all = catalogue.all();
    const auto place = std::ranges::find(all, way.technique) - all.begin();
    option.number(static_cast<double>(place) / static_cast<double>(all.size()));
    option.one_of(static_cast<int>(way.technique->entry()), 4);
    add_estimate(option, estimates[i], best);
    option.flag(way.technique->is_exact(way.offer));
    option.flag(feedback_ && feedback_->previous.technique == way.technique &&
                feedback_->previous.offer == way.offer);
    add_zeros(option, value_only);
    const std::vector<float> whole = row(option.out);
    out.insert(out.end(), whole.begin(), whole.end());
  }
  return out;
}

std::vector<float> RegionFeatures::of_values(const plan::Region& region, const plan::Knob& knob) const {
  std::vector<float> out;
  for (size_t i = 0; i <= knob.values.size(); ++i) {
    const std::optional<int64_t> value = i == 0 ? std::nullopt : std::optional(knob.values[i - 1]);
    Row option;
    option.flag(false);
    add_way(option, {region.technique, region.offer});
    add_chosen(option, region);
    add_zeros(option, way_only);
    add_value(option, knob, i, value);
    auto same = [&](const plan::Region& other) {
      if (other.technique != region.technique) return false;
      const auto known = other.choices.find(knob.name);
      return known == other.choices.end() ? !value : value && known->second == *value;
    };
    option.flag(same(region_));
    option.flag(feedback_ && same(feedback_->previous));
    const std::vector<float> whole = row(option.out);
    out.insert(out.end(), whole.begin(), whole.end());
  }
  return out;
}

int feature_count() {
  constexpr int shape = 4 + 1 + 2 + 1;
  constexpr int shared = 1 + kinds + 4 + 4 + 3 * shape + (8 + 16 + 2) + 8 + 4 + 2 * kinds + 6 + 2 +
                         static_cast<int>(bottlenecks.size());
  constexpr int way = technique_buckets + 4 + 2;
  return shared + 1 + way + knob_buckets + way_only + value_only;
}

}  // namespace stitch::learn
