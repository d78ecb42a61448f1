#include "learn/coder/region_question.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "code/catalogue.h"
#include "learn/draw.h"

namespace stitch::learn {

namespace {

constexpr size_t most_choices = 96;

// Those whose times are known, or any. What another version measured and this one can't do is left out.
std::vector<plan::Region> choices_of(const RegionProblem& problem, Times& times) {
  const std::vector<std::string>* known = times.known(problem);
  if (!known) return candidate_choices(problem, most_choices);
  if (times.of(problem, problem.now()).kind != Timed::Kind::timed) return {};
  std::vector<plan::Region> out = {problem.now()};
  const std::string now = choice_text(problem.now());
  for (const std::string& each : *known)
    if (each != now)
      if (auto read = read_choice(problem.context(), problem.plan(), problem.now(), code::catalogue(), each))
        out.push_back(*std::move(read));
  return out;
}

}  // namespace

Timed EstimatedTimes::of(const RegionProblem& problem, const plan::Region& chosen) {
  return {Timed::Kind::timed, plan::estimate(problem.context(), problem.plan(), chosen).seconds()};
}

RegionQuestion::RegionQuestion(RegionProblem problem, Times& times)
    : problem_(std::move(problem)), times_(times), choices_(choices_of(problem_, times)) {
  if (choices_.size() < 2) choices_.clear();
  timed_.resize(choices_.size());
}

const std::vector<float>& RegionQuestion::features() {
  if (rows_.empty() && !choices_.empty()) {
    const RegionFeatures features(problem_.context(), problem_.plan(), problem_.region);
    for (const plan::Region& each : choices_) {
      const std::vector<float> row = features.of_choice(each);
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
  }
  return rows_;
}

const Timed& RegionQuestion::time_of(size_t choice) {
  std::optional<Timed>& known = timed_.at(choice);
  if (!known) known = times_.of(problem_, choices_[choice]);
  return *known;
}

namespace {

constexpr int technique_buckets = 64, knob_buckets = 24, kinds = 6;
// Always zero: weights of version 2 have inputs for a choice made before and its bottleneck.
constexpr int unused_of_region = 8, unused_of_choice = 1;

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
  void zeros(int count) { out.resize(out.size() + static_cast<size_t>(count)); }
  std::vector<float> out;
};

double size(double value) { return std::log2(std::max(value, 1.0)) / 8; }
double ratio(double value, double to) { return value > 0 && to > 0 ? std::log2(value / to) / 2 : 0; }

// The node that the region is about: its product, convolution, attention, recurrence; else its largest.
const Node& main_node(const Graph& graph, const plan::Region& region) {
  const Node* largest = nullptr;
  double most = -1;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
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

// What the cost model has of the choice beside the built-in one: shares of the latter's time.
void add_estimate(Row& row, const plan::RegionEstimate& parts, const plan::RegionEstimate& built_in) {
  const double whole = std::max(built_in.seconds(), 1e-9);
  row.number(ratio(parts.seconds(), whole));
  row.number(ratio(std::max(parts.memory, parts.compute), whole));
  for (double part : {parts.memory, parts.compute, parts.rearranging, parts.launch})
    row.number(std::log2(1 + part / whole));
  row.number(std::log2(std::max(parts.seconds(), 1e-9) / 1e-5) / 4);
  row.number(ratio(parts.bytes, built_in.bytes));
}

// Each knob has a place by its name, and each value of it another: "proposal 3" is no larger than "proposal
// 2".
void add_knobs(Row& row, const plan::Region& region) {
  std::array<double, knob_buckets> given{}, values{}, single{};
  for (const auto& [knob, value] : region.choices) {
    given[stable_hash(knob) % knob_buckets] = 1;
    values[stable_hash(knob) % knob_buckets] = std::log2(1.0 + static_cast<double>(value)) / 4;
    single[stable_hash(format("{}={}", knob, value)) % knob_buckets] += 1;
  }
  for (const auto& each : {given, values, single})
    for (double value : each) row.number(value);
}

constexpr int estimate_fields = 8, flags_of_choice = 4;

}  // namespace

RegionFeatures::RegionFeatures(const plan::Context& context, const plan::Plan& plan, size_t region)
    : context_(context), plan_(plan), region_(plan.regions[region]) {
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
  row.zeros(unused_of_region);
  estimate_ = plan::estimate(context, plan, region_);
  shared_ = std::move(row.out);
}

std::vector<float> RegionFeatures::of_choice(const plan::Region& chosen) const {
  Row row{.out = shared_};
  const plan::Way way{chosen.technique, chosen.offer};
  const bool same_technique = chosen.technique == region_.technique;
  row.bucket(way.technique->name(), technique_buckets);
  row.one_of(static_cast<int>(way.offer.arithmetic), 4);
  row.one_of(static_cast<int>(way.offer.order), 2);
  row.flag(same_technique && way.offer == region_.offer);
  row.flag(same_technique && way.offer == region_.offer && chosen.choices == region_.choices);
  row.flag(way.technique->suits(context_, region_, way.offer));
  row.flag(way.technique->is_exact(way.offer));
  row.zeros(unused_of_choice);
  row.one_of(static_cast<int>(way.technique->entry()), 4);
  add_estimate(row, plan::estimate(context_, plan_, chosen), estimate_);
  add_knobs(row, chosen);
  return std::move(row.out);
}

int feature_count() {
  constexpr int shape = 4 + 1 + 2 + 1;
  constexpr int shared =
      1 + kinds + 4 + 4 + 3 * shape + (8 + 16 + 2) + 8 + 4 + 2 * kinds + 6 + unused_of_region;
  return shared + technique_buckets + 4 + 2 + flags_of_choice + unused_of_choice + 4 + estimate_fields +
         3 * knob_buckets;
}

}  // namespace stitch::learn
