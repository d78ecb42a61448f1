#include "verify/gates/region_questions.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "base/contained.h"
#include "base/error_codes.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "reference/inputs/fade.h"
#include "reference/sensitivity.h"
#include "verify/numerics/discontinuity.h"
#include "verify/numerics/judge.h"
#include "verify/numerics/layout.h"

namespace stitch::verifier {

namespace {

using oracle::Tensor;

// The oracle's, until this task's own pace is known: a ReLU of 13 GB took 57 s, 53 by this; convolutions of
// small images take longer.
constexpr double flops_a_second = 2e9, bytes_a_second = 5e8;

// What storing in a dtype costs.
double storage_rounding(DType dtype) {
  if (dtype == DType::f16) return 0x1p-10;
  return dtype == DType::bf16 ? 0x1p-7 : 0;
}

// What storing the result costs, relative: of faint numbers fp16 keeps a bit or two.
Result<double> change_by_storage(const TensorType& type, const Tensor& expected) {
  if (type.dtype != DType::f16 && type.dtype != DType::bf16) return 0.0;
  STITCH_TRY(const Tensor stored, Tensor::from_bytes(type.dtype, type.shape, expected.to_bytes(type.dtype)));
  return 2 * relative_change(stored, expected);
}

bool is_finite(const Tensor& tensor) {
  if (!tensor.floating()) return true;
  const std::span values(tensor.data<double>(), static_cast<size_t>(tensor.elements()));
  constexpr double most = 1e30;  // of FP32, with room for sums
  return std::ranges::all_of(values, [](double value) { return std::fabs(value) < most; });
}

// What two regions have in common whose code differs in names and weights alone.
std::string kind_of(const Graph& graph, const ManifestRegion& region) {
  std::string out = region.technique;
  for (const auto* slots : {&region.reads, &region.writes})
    for (const Slot& slot : *slots) out += format(" {} [{}]", text(slot.type), join(slot.order, ","));
  for (int32_t n : nodes_of(graph, region)) {
    const Node& node = graph.node(n);
    out += format("\n{}", info(node.op).name);
    for (ValueId id : node.operands) out += id == ValueId::none ? " none" : " " + text(graph.type(id));
    for (const auto& [name, value] : node.attributes) out += format(" {}={}", name, text(value));
  }
  return out;
}

// Of this thread on a core: others on the machine don't shorten what is asked.
double own_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A network repeats its blocks, and time may not do for all of them.
std::vector<size_t> first_of_each_kind_first(const Graph& graph, const std::vector<ManifestRegion>& list) {
  std::vector<size_t> out, others;
  std::set<std::string> seen;
  for (size_t i = 0; i < list.size(); ++i)
    (seen.insert(kind_of(graph, list[i])).second ? out : others).push_back(i);
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

}  // namespace

std::string_view text(RegionAsked asked) {
  switch (asked) {
    case RegionAsked::as_in_the_model: return "";
    case RegionAsked::faint: return " on faint rows and rows of zeros";
    case RegionAsked::ends: return " on rows whose largest is at their ends";
    case RegionAsked::low: return " on numbers far below zero";
  }
  return "";
}

std::vector<int32_t> nodes_of(const Graph& graph, const ManifestRegion& region) {
  std::vector<int32_t> out;
  for (const Node& node : graph.nodes)
    if (std::ranges::find(region.nodes, graph[node.results[0]].name) != region.nodes.end())
      out.push_back(graph.number_of(node));
  return out;
}

RegionQuestions::RegionQuestions(const TaskGraph& task, std::vector<ManifestRegion> regions,
                                 Numerics numerics, std::chrono::duration<double> limit, uint64_t seed,
                                 bool besides)
    : task_(task),
      graph_(task.graph),
      regions_(std::move(regions)),
      numerics_(numerics),
      limit_(limit.count()),
      besides_(besides),
      seed_(seed),
      costs_(cost(task.graph)) {
  for (const ManifestTensor& parameter : task.signature.parameters)
    parameters_.insert(graph_.find(parameter.name));
  // Made of parameters alone, as a folded weight is: a region may have packed it when it was created, and is
  // given no other.
  constants_ = parameters_;
  for (const Node& node : graph_.nodes)
    if (std::ranges::all_of(node.operands,
                            [&](ValueId id) { return id == ValueId::none || constants_.contains(id); }))
      constants_.insert(node.results.begin(), node.results.end());
  for (size_t region : first_of_each_kind_first(graph_, regions_))
    left_.push_back({region, RegionAsked::as_in_the_model});
}

Result<void> RegionQuestions::take(const std::vector<ManifestTensor>& names, const Tensors& values) {
  for (size_t i = 0; i < names.size(); ++i) {
    STITCH_TRY(Tensor tensor,
               Tensor::from_bytes(values[i].type.dtype, values[i].type.shape, values[i].bytes));
    live_.insert_or_assign(graph_.find(names[i].name), std::move(tensor));
  }
  return {};
}

double RegionQuestions::seconds_of(size_t region) const {
  double seconds = 0;
  for (int32_t n : nodes_of(graph_, regions_[region])) {
    const auto& node = costs_.nodes[static_cast<size_t>(n)];
    seconds += node.flops / flops_a_second + node.bytes / bytes_a_second;
  }
  return 2 * seconds;
}

bool RegionQuestions::fits(double estimate) const {
  return spent_ + estimate * (estimated_ > 0.05 ? spent_ / estimated_ : 1) <= limit_;
}

Result<std::optional<RegionQuestion>> RegionQuestions::next() {
  while (!left_.empty()) {
    const Asking asking = left_.front();
    const double estimate = seconds_of(asking.region);
    if (!fits(estimate)) {
      // A region that wasn't reached proves nothing about the next one; what is asked besides is shorter.
      std::erase_if(left_, [&](const Asking& each) { return each.asked == asking.asked; });
      continue;
    }
    left_.pop_front();
    const SpentOn spent("oracle: region alone");
    const double begin = own_seconds();
    auto made = question(asking);
    spent_ += own_seconds() - begin;
    if (!made || *made) estimated_ += estimate;
    if (!made || *made) return made;
  }
  return std::optional<RegionQuestion>();
}

Result<std::optional<RegionQuestion>> RegionQuestions::question(const Asking& asking) {
  const ManifestRegion& region = regions_[asking.region];
  STITCH_TRY(const Contract contract, this->contract(region));
  if (asking.asked != RegionAsked::as_in_the_model) {
    std::optional<oracle::Known> values = besides(asking, contract);
    if (!values) return std::optional<RegionQuestion>();
    STITCH_TRY(RegionQuestion out, ask(asking, *values, contract));
    return std::optional(std::move(out));
  }
  STITCH_CHECK(provide(contract.reads));
  STITCH_TRY(RegionQuestion out, ask(asking, live_, contract));
  for (size_t i = 0; i < contract.writes.size(); ++i)
    live_.insert_or_assign(contract.writes[i], out.expected[i]);
  if (besides_)
    for (RegionAsked other : {RegionAsked::faint, RegionAsked::ends, RegionAsked::low})
      left_.push_back({asking.region, other});
  return std::optional(std::move(out));
}

Result<RegionQuestions::Contract> RegionQuestions::contract(const ManifestRegion& region) const {
  Contract out;
  for (auto [slots, ids] : {std::pair(&region.reads, &out.reads), std::pair(&region.writes, &out.writes)})
    for (const Slot& slot : *slots) {
      ValueId id = graph_.find(slot.value);
      if (id == ValueId::none || graph_.type(id).shape != slot.type.shape || !verifier::fits(slot))
        return found("contract", format("region '{}' names '{}' as {}, which the task has not", region.name,
                                        slot.value, text(slot.type)));
      ids->push_back(id);
    }
  return out;
}

// A region may read what no region before it wrote, or one that was not checked: then the oracle makes it.
Result<void> RegionQuestions::provide(const std::vector<ValueId>& reads) {
  std::vector<ValueId> missing;
  for (ValueId id : reads)
    if (!live_.contains(id)) missing.push_back(id);
  STITCH_TRY(std::vector<Tensor> made, oracle::evaluate(graph_, live_, missing));
  for (size_t i = 0; i < missing.size(); ++i) live_.insert_or_assign(missing[i], made[i]);
  return {};
}

Result<RegionQuestion> RegionQuestions::ask(const Asking& asking, const oracle::Known& values,
                                            const Contract& contract) const {
  const ManifestRegion& region = regions_[asking.region];
  RegionQuestion out{
      .region = asking.region, .asked = asking.asked, .known = values, .writes = contract.writes};
  for (size_t i = 0; i < contract.reads.size(); ++i) {
    const Slot& slot = region.reads[i];
    const ValueId id = contract.reads[i];
    std::vector<std::byte> stored = values.at(id).to_bytes(slot.type.dtype);
    STITCH_TRY(Tensor rounded, Tensor::from_bytes(slot.type.dtype, slot.type.shape, stored));
    out.known.insert_or_assign(id, rounded.labelled(graph_.type(id).dtype));
    out.inputs.add(slot.stored(), to_storage(slot, stored));
  }
  for (ValueId id : out.writes) out.known.erase(id);
  std::vector<ValueId> results;
  for (int32_t n : nodes_of(graph_, region))
    for (ValueId id : graph_.node(n).results) results.push_back(id);
  out.known = oracle::leaves_of(graph_, out.known, results);
  STITCH_TRY(out.expected, oracle::evaluate(graph_, out.known, out.writes));
  STITCH_TRY(std::vector<double> moved, movement(region, out.known, out.writes, out.expected));
  for (size_t i = 0; i < out.writes.size(); ++i) {
    const Slot& slot = region.writes[i];
    STITCH_TRY(const double stored, change_by_storage(slot.type, out.expected[i]));
    out.judging.push_back({.numerics = numerics_,
                           .floor = 1e-5 + 2 * storage_rounding(slot.type.dtype),
                           .sensitivity = std::max(moved[i], stored),
                           .least_truth = least_truth(region, slot, out.expected)});
  }
  return out;
}

// Faint rows and rows of zeros, which a model's inputs may never bring to where an epsilon counts; rows whose
// largest, by far, is at their ends, and nothing but numbers far below zero: what a softmax behind other
// layers is given may never be either. Nothing: it makes no difference to this region.
std::optional<oracle::Known> RegionQuestions::besides(const Asking& asking, const Contract& contract) {
  const ManifestRegion& region = regions_[asking.region];
  const bool product = has_product(graph_, region.nodes), faint = asking.asked == RegionAsked::faint;
  if (faint ? !has_epsilon(graph_, region.nodes) || has_discontinuity(graph_)
            : !has_maximum(graph_, region.nodes) || has_discontinuity(graph_, region.nodes) ||
                  (asking.asked == RegionAsked::low && product))
    return std::nullopt;
  // Squares of 1e-12 are numbers in FP32, and squares of those are not.
  const double faintest = product ? 0x1p-10 : 0x1p-40;
  for (bool zeros : {true, false}) {
    oracle::Known known;  // and nothing that other regions made of brighter ones
    for (ValueId id : parameters_) known.emplace(id, live_.at(id));
    for (ValueId id : contract.reads) {
      const Tensor& seen = live_.at(id);
      if (constants_.contains(id))
        known.emplace(id, seen);
      else if (faint)
        known.emplace(id, faded(seen, {.faintest = faintest, .zeros = zeros, .seed = ++seed_}));
      else
        known.emplace(
            id,
            with_extremes(seen, asking.asked == RegionAsked::ends ? Extremes::ends : Extremes::low, ++seed_));
    }
    auto expected = oracle::evaluate(graph_, known, contract.writes);
    if (expected && std::ranges::all_of(*expected, is_finite)) return known;
    if (!faint) break;
  }
  return std::nullopt;
}

// What rounding the region's operands, and what it makes of them on the way, does to its results, relative.
Result<std::vector<double>> RegionQuestions::movement(const ManifestRegion& region, oracle::Known known,
                                                      const std::vector<ValueId>& writes,
                                                      const std::vector<Tensor>& expected) const {
  STITCH_TRY(std::vector<Tensor> between, rounded_between(graph_, region.nodes, known, writes));
  double unit = 0x1p-22;
  for (int32_t n : nodes_of(graph_, region))
    unit = std::max(unit, rounding_of(graph_, graph_.node(n), numerics_));
  for (auto& [id, tensor] : known) tensor = perturbed(tensor, unit, index_of(id));
  STITCH_TRY(std::vector<Tensor> moved, oracle::evaluate(graph_, std::move(known), writes));
  std::vector<double> out;
  for (size_t i = 0; i < writes.size(); ++i)
    out.push_back(4 *
                  std::max(relative_change(moved[i], expected[i]), relative_change(between[i], expected[i])));
  return out;
}

// Of a running mean whose variance the region writes too.
double RegionQuestions::least_truth(const ManifestRegion& region, const Slot& mean,
                                    const std::vector<Tensor>& expected) const {
  const std::string variance = variance_beside(graph_, mean.value);
  for (size_t i = 0; !variance.empty() && i < region.writes.size(); ++i) {
    if (region.writes[i].value != variance) continue;
    const std::vector<std::byte> bytes = expected[i].to_bytes(DType::f64);
    const TensorBytes exact{{DType::f64, expected[i].shape(), {}}, bytes};
    return least_truth_of_means(distance(exact, exact));
  }
  return 0;
}

RegionQuestionsAhead::~RegionQuestionsAhead() {
  {
    std::lock_guard hold(mutex_);
    stop_ = true;
  }
  if (worker_.joinable()) worker_.join();
}

void RegionQuestionsAhead::begin(const std::function<Result<void>(RegionQuestions&)>& prepare) {
  auto prepared = contained([&] { return prepare(*questions_); });
  if (prepared) {
    worker_ = std::thread([this] { work(); });
    return;
  }
  std::lock_guard hold(mutex_);
  ready_.push_back(std::move(prepared).error());
  changed_.notify_all();
}

void RegionQuestionsAhead::work() {
  for (bool more = true; more;) {
    auto question = contained([&] { return questions_->next(); });
    more = question && *question;
    std::lock_guard hold(mutex_);
    more = more && !stop_;
    ready_.push_back(std::move(question));
    changed_.notify_all();
  }
}

Result<std::optional<RegionQuestion>> RegionQuestionsAhead::next() {
  std::unique_lock hold(mutex_);
  changed_.wait(hold, [&] { return !ready_.empty(); });
  Result<std::optional<RegionQuestion>> out = std::move(ready_.front());
  ready_.pop_front();
  return out;
}

}  // namespace stitch::verifier
