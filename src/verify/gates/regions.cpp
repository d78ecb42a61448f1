// Each region alone: it gets what it would get inside the program, rounded as its contract says, and must
// give what the oracle makes of exactly that. No error of one region hides in another's, and an output
// that says little end to end can't hide anything.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error_codes.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "graph/cost.h"
#include "oracle/interpreter.h"
#include "reference/inputs/fade.h"
#include "reference/sensitivity.h"
#include "verify/adequacy/told_apart.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/discontinuity.h"
#include "verify/numerics/judge.h"
#include "verify/numerics/layout.h"

namespace stitch::verifier {

namespace {

using oracle::Tensor;

// What storing in a dtype costs.
double storage_rounding(DType dtype) {
  if (dtype == DType::f16) return 0x1p-10;
  return dtype == DType::bf16 ? 0x1p-7 : 0;
}

class RegionCheck {
 public:
  RegionCheck(Session& session, Attempt& attempt)
      : session_(session),
        attempt_(attempt),
        graph_(session.task.graph),
        constants_(constants_in(graph_, session.task.signature)) {}

  Result<void> take(const std::vector<ManifestTensor>& names, const Tensors& values) {
    for (size_t i = 0; i < names.size(); ++i) {
      STITCH_TRY(Tensor tensor,
                 Tensor::from_bytes(values[i].type.dtype, values[i].type.shape, values[i].bytes));
      live_.insert_or_assign(graph_.find(names[i].name), std::move(tensor));
    }
    return {};
  }

  // A region whose check proves nothing; empty: none.
  const std::string& weak() const { return weak_; }

  Result<void> run(size_t number, Json& evidence) {
    const ManifestRegion& region = session_.manifest.regions[number];
    STITCH_TRY(std::vector<ValueId> reads, ids(region, region.reads));
    STITCH_TRY(std::vector<ValueId> writes, ids(region, region.writes));
    STITCH_CHECK(provide(reads));
    STITCH_TRY(std::vector<Tensor> expected, check(number, live_, reads, writes, "", evidence));
    for (size_t i = 0; i < writes.size(); ++i) live_.insert_or_assign(writes[i], expected[i]);
    return {};
  }

  // Once more on faint rows and rows of zeros, which a model's inputs may never bring to where an epsilon
  // counts. True: there was something to ask.
  Result<bool> run_faint(size_t number, Json& evidence) {
    const ManifestRegion& region = session_.manifest.regions[number];
    if (!has_epsilon(graph_, region.nodes) || has_discontinuity(graph_)) return false;
    STITCH_TRY(std::vector<ValueId> reads, ids(region, region.reads));
    STITCH_TRY(std::vector<ValueId> writes, ids(region, region.writes));
    // Squares of 1e-12 are numbers in FP32, and squares of those are not.
    const double faintest = has_product(graph_, region.nodes) ? 0x1p-10 : 0x1p-40;
    for (bool zeros : {true, false}) {
      oracle::Known faint;  // and nothing that other regions made of brighter ones
      for (const auto& [id, tensor] : live_)
        if (is_parameter(id)) faint.emplace(id, tensor);
      for (ValueId id : reads)
        faint.emplace(id, is_constant(id)
                              ? live_.at(id)
                              : faded(live_.at(id),
                                      {.faintest = faintest, .zeros = zeros, .seed = session_.next_seed()}));
      auto expected = oracle::evaluate(graph_, faint, writes);
      if (!expected || !std::ranges::all_of(*expected, is_finite)) continue;
      STITCH_CHECK(check(number, faint, reads, writes, " on faint rows and rows of zeros", evidence));
      return true;
    }
    return false;
  }

  // Once more on rows whose largest, by far, is at their ends, and on nothing but numbers far below zero:
  // what a softmax behind other layers is given may never be either.
  Result<bool> run_extremes(size_t number, Json& evidence) {
    const ManifestRegion& region = session_.manifest.regions[number];
    if (!has_maximum(graph_, region.nodes) || has_discontinuity(graph_, region.nodes)) return false;
    STITCH_TRY(std::vector<ValueId> reads, ids(region, region.reads));
    STITCH_TRY(std::vector<ValueId> writes, ids(region, region.writes));
    bool asked = false;
    for (Extremes where : {Extremes::ends, Extremes::low}) {
      if (where == Extremes::low && has_product(graph_, region.nodes)) continue;
      oracle::Known known;
      for (const auto& [id, tensor] : live_)
        if (is_parameter(id)) known.emplace(id, tensor);
      for (ValueId id : reads)
        known.emplace(
            id, is_constant(id) ? live_.at(id) : with_extremes(live_.at(id), where, session_.next_seed()));
      auto expected = oracle::evaluate(graph_, known, writes);
      if (!expected || !std::ranges::all_of(*expected, is_finite)) continue;
      STITCH_CHECK(check(
          number, known, reads, writes,
          where == Extremes::ends ? " on rows whose largest is at their ends" : " on numbers far below zero",
          evidence));
      asked = true;
    }
    return asked;
  }

 private:
  static bool is_finite(const Tensor& tensor) {
    if (!tensor.floating()) return true;
    const std::span values(tensor.data<double>(), static_cast<size_t>(tensor.elements()));
    constexpr double most = 1e30;  // of FP32, with room for sums
    return std::ranges::all_of(values, [](double value) { return std::fabs(value) < most; });
  }

  bool is_parameter(ValueId id) const {
    return std::ranges::any_of(session_.task.signature.parameters, [&](const ManifestTensor& parameter) {
      return graph_.find(parameter.name) == id;
    });
  }

  // Made of parameters alone, as a folded weight is: a region may have packed it when it was created, and is
  // given no other.
  bool is_constant(ValueId id) const { return constants_.contains(id); }

  static std::set<ValueId> constants_in(const Graph& graph, const Signature& signature) {
    std::set<ValueId> out;
    for (const ManifestTensor& parameter : signature.parameters) out.insert(graph.find(parameter.name));
    for (const Node& node : graph.nodes)
      if (std::ranges::all_of(node.operands,
                              [&](ValueId id) { return id == ValueId::none || out.contains(id); }))
        out.insert(node.results.begin(), node.results.end());
    return out;
  }

  // What the region should have written.
  Result<std::vector<Tensor>> check(size_t number, const oracle::Known& values,
                                    const std::vector<ValueId>& reads, const std::vector<ValueId>& writes,
                                    std::string_view where, Json& evidence) {
    const ManifestRegion& region = session_.manifest.regions[number];
    Tensors inputs;
    oracle::Known known = values;
    for (size_t i = 0; i < reads.size(); ++i) {
      const Slot& slot = region.reads[i];
      std::vector<std::byte> stored = values.at(reads[i]).to_bytes(slot.type.dtype);
      STITCH_TRY(Tensor rounded, Tensor::from_bytes(slot.type.dtype, slot.type.shape, stored));
      known.insert_or_assign(reads[i], rounded.labelled(graph_.type(reads[i]).dtype));
      inputs.add(slot.stored(), to_storage(slot, stored));
    }
    for (ValueId id : writes) known.erase(id);
    known = oracle::leaves_of(graph_, known, results_of(region));
    STITCH_TRY(std::vector<Tensor> expected, oracle::evaluate(graph_, known, writes));
    STITCH_TRY(std::vector<double> moved, movement(region, known, writes, expected));
    STITCH_TRY(Tensors outputs, call(number, region, inputs));
    std::vector<Judging> judgings;
    for (size_t i = 0; i < writes.size(); ++i) {
      STITCH_TRY(const double stored, change_by_storage(region.writes[i].type, expected[i]));
      const Slot& slot = region.writes[i];
      judgings.push_back({.numerics = session_.options.numerics,
                          .floor = 1e-5 + 2 * storage_rounding(slot.type.dtype),
                          .sensitivity = std::max(moved[i], stored),
                          .least_truth = least_truth(region, slot, expected)});
      STITCH_CHECK(judge(region, i, outputs[i], expected, judgings[i], known, where, evidence));
    }
    // Of jumps an honest program may lie on either side.
    if (session_.adequacy && !has_discontinuity(graph_, region.nodes))
      STITCH_CHECK(session_.adequacy->take_region(known, numbers_of(region), writes, expected, judgings));
    return expected;
  }

  Result<std::vector<ValueId>> ids(const ManifestRegion& region, const std::vector<Slot>& slots) const {
    std::vector<ValueId> out;
    for (const Slot& slot : slots) {
      ValueId id = graph_.find(slot.value);
      if (id == ValueId::none || graph_.type(id).shape != slot.type.shape || !fits(slot))
        return found("contract", format("region '{}' names '{}' as {}, which the task has not", region.name,
                                        slot.value, text(slot.type)));
      out.push_back(id);
    }
    return out;
  }

  std::vector<ValueId> results_of(const ManifestRegion& region) const {
    std::vector<ValueId> out;
    for (const Node& node : graph_.nodes)
      if (std::ranges::find(region.nodes, graph_[node.results[0]].name) != region.nodes.end())
        out.insert(out.end(), node.results.begin(), node.results.end());
    return out;
  }

  std::vector<int32_t> numbers_of(const ManifestRegion& region) const {
    std::vector<int32_t> out;
    for (const Node& node : graph_.nodes)
      if (std::ranges::find(region.nodes, graph_[node.results[0]].name) != region.nodes.end())
        out.push_back(graph_.number_of(node));
    return out;
  }

  // A region may read what no region before it wrote, or one that was not checked: then the oracle makes it.
  Result<void> provide(const std::vector<ValueId>& reads) {
    std::vector<ValueId> missing;
    for (ValueId id : reads)
      if (!live_.contains(id)) missing.push_back(id);
    STITCH_TRY(std::vector<Tensor> made, oracle::evaluate(graph_, live_, missing));
    for (size_t i = 0; i < missing.size(); ++i) live_.insert_or_assign(missing[i], made[i]);
    return {};
  }

  double rounding(const ManifestRegion& region) const {
    double unit = 0x1p-22;
    for (const Node& node : graph_.nodes)
      if (std::ranges::find(region.nodes, graph_[node.results[0]].name) != region.nodes.end())
        unit = std::max(unit, rounding_of(graph_, node, session_.options.numerics));
    return unit;
  }

  // What rounding the region's operands, and what it makes of them on the way, does to its results, relative.
  Result<std::vector<double>> movement(const ManifestRegion& region, oracle::Known known,
                                       const std::vector<ValueId>& writes,
                                       const std::vector<Tensor>& expected) {
    STITCH_TRY(std::vector<Tensor> between, rounded_between(graph_, region.nodes, known, writes));
    double unit = rounding(region);
    for (auto& [id, tensor] : known) tensor = perturbed(tensor, unit, index_of(id));
    STITCH_TRY(std::vector<Tensor> moved, oracle::evaluate(graph_, std::move(known), writes));
    std::vector<double> out;
    for (size_t i = 0; i < writes.size(); ++i)
      out.push_back(
          4 * std::max(relative_change(moved[i], expected[i]), relative_change(between[i], expected[i])));
    return out;
  }

  // What storing the result costs, relative: of faint numbers fp16 keeps a bit or two.
  static Result<double> change_by_storage(const TensorType& type, const Tensor& expected) {
    if (type.dtype != DType::f16 && type.dtype != DType::bf16) return 0.0;
    STITCH_TRY(const Tensor stored,
               Tensor::from_bytes(type.dtype, type.shape, expected.to_bytes(type.dtype)));
    return 2 * relative_change(stored, expected);
  }

  Result<Tensors> call(size_t number, const ManifestRegion& region, const Tensors& inputs) {
    STITCH_TRY(int set, attempt_.place(inputs));
    std::vector<TensorType> types;
    for (const Slot& slot : region.writes) types.push_back(slot.stored());
    runner::CallOptions options{.region = static_cast<int>(number), .poison = session_.next_seed()};
    STITCH_TRY(runner::Called called,
               or_found(attempt_.candidate().call(set, types, options), "region '" + region.name + "' ran"));
    if (!called.damage.empty())
      return found("out_of_bounds",
                   format("region '{}' wrote past its tensors: {}", region.name, called.damage));
    STITCH_TRY(Tensors outputs, attempt_.fetch(types));
    STITCH_CHECK(attempt_.drop(set));
    return outputs;
  }

  // Of a running mean whose variance the region writes too.
  double least_truth(const ManifestRegion& region, const Slot& mean,
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

  Result<void> judge(const ManifestRegion& region, size_t i, const TensorBytes& stored,
                     const std::vector<Tensor>& all_expected, const Judging& judging,
                     const oracle::Known& known, std::string_view where, Json& evidence) {
    const Slot& slot = region.writes[i];
    const Tensor& expected = all_expected[i];
    std::vector<std::byte> logical = from_storage(slot, stored.bytes);
    TensorBytes got{{slot.type.dtype, slot.type.shape, {}}, logical};
    DType dtype = expected.floating() ? DType::f64 : expected.dtype();
    STITCH_TRY(std::vector<std::byte> exact, exact_bytes(slot, expected));
    Comparison comparison = compare(got, {{dtype, expected.shape(), {}}, exact}, nullptr, judging);
    if (!comparison.passed && has_discontinuity(graph_)) {
      STITCH_TRY(comparison,
                 across(known, slot, got, {{dtype, expected.shape(), {}}, exact}, judging, comparison));
    }
    Json record = to_json(comparison);
    record["region"] = region.name;
    record["value"] = slot.value;
    if (!where.empty()) record["asked"] = where.substr(1);
    evidence["regions"].push_back(std::move(record));
    if (comparison.passed) {
      // Two more comparisons of everything, which matter only where the whole program proved nothing.
      if (where.empty() && !session_.unproven.empty())
        note_weakness(region, slot, {{dtype, expected.shape(), {}}, exact}, judging);
      return {};
    }
    return found(error_code::region_wrong, format("region '{}' alone gives a wrong '{}'{}: {}", region.name,
                                                  slot.value, where, comparison.reason));
  }

  // In float64, but for what the task's own fp16 can't hold: that is infinite in PyTorch, too.
  Result<std::vector<std::byte>> exact_bytes(const Slot& slot, const Tensor& expected) const {
    if (!expected.floating()) return expected.to_bytes(expected.dtype());
    if (graph_.type(graph_.find(slot.value)).dtype != DType::f16) return expected.to_bytes(DType::f64);
    STITCH_TRY(const Tensor narrow,
               Tensor::from_bytes(DType::f16, expected.shape(), expected.to_bytes(DType::f16)));
    Tensor exact(DType::f64, expected.shape());
    const double *rounded = narrow.data<double>(), *wide = expected.data<double>();
    for (int64_t e = 0; e < expected.elements(); ++e)
      exact.writable<double>()[e] = std::isinf(rounded[e]) ? rounded[e] : wide[e];
    return exact.to_bytes(DType::f64);
  }

  // Right all the same, where operands lie within rounding of a jump?
  Result<Comparison> across(const oracle::Known& known, const Slot& slot, const TensorBytes& got,
                            const TensorBytes& exact, const Judging& judging, const Comparison& before) {
    const ValueId id = graph_.find(slot.value);
    STITCH_TRY(auto variants,
               across_jumps(graph_, known, std::span(&id, 1), judging.numerics, session_.seed));
    std::vector<Tensor> others;
    for (std::vector<Tensor>& variant : variants) others.push_back(std::move(variant[0]));
    int64_t count = 0;
    const std::vector<std::byte> truth = truth_at_jumps(got, exact, others, before.largest_allowed, count);
    Comparison again = compare(got, {exact.type, truth}, nullptr, judging);
    again.at_jumps = count;
    return again.passed ? again : before;
  }

  // Would zeros, or something that the region reads, have passed without being exactly right?
  void note_weakness(const ManifestRegion& region, const Slot& result, const TensorBytes& exact,
                     const Judging& judging) {
    if (!is_floating(exact.type.dtype) || !weak_.empty()) return;
    if (distance(exact, exact).says_nothing()) weak_ = region.name;
    auto tell = [&](const TensorBytes& imitation) {
      const Comparison comparison = compare(imitation, exact, nullptr, judging);
      if (comparison.passed && comparison.own.error > 0) weak_ = region.name;
    };
    const std::vector<std::byte> zeros(exact.bytes.size());
    tell({exact.type, zeros});
    for (const Slot& slot : region.reads) {
      auto found = live_.find(graph_.find(slot.value));
      if (slot.value == result.value || found == live_.end() || found->second.shape() != exact.type.shape ||
          !found->second.floating())
        continue;
      const std::vector<std::byte> bytes = found->second.to_bytes(DType::f64);
      tell({exact.type, bytes});
    }
  }

  Session& session_;
  Attempt& attempt_;
  const Graph& graph_;
  std::set<ValueId> constants_;
  oracle::Known live_;
  std::string weak_;
};

// The oracle runs on the CPU in float64, each region three times. Where the whole program has already shown
// what it is worth it gets a few seconds, where it could not, more.
constexpr double usual_seconds = 5, seconds_for_weak_tasks = 6;
// Until this task's own pace is known: a ReLU of 13 GB took 57 s, 53 by this; convolutions of small images
// take longer.
constexpr double flops_a_second = 2e9, bytes_a_second = 5e8;

double seconds_of(const Graph& graph, const GraphCost& costs, const ManifestRegion& region) {
  double seconds = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (std::ranges::find(region.nodes, graph[graph.nodes[i].results[0]].name) != region.nodes.end())
      seconds += costs.nodes[i].flops / flops_a_second + costs.nodes[i].bytes / bytes_a_second;
  return 2 * seconds;
}

// Which regions fit into the time: estimates, corrected by what the regions so far took.
class Pace {
 public:
  explicit Pace(double limit) : limit_(limit) {}

  bool fits(double estimate) const {
    return elapsed() + estimate * (done_ > 0.05 ? elapsed() / done_ : 1) <= limit_;
  }
  void did(double estimate) { done_ += estimate; }

 private:
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const double limit_;
  double done_ = 0;  // seconds, as estimated
};

// What two regions have in common whose code differs in names and weights alone.
std::string kind_of(const Graph& graph, const ManifestRegion& region) {
  std::string out = region.technique;
  for (const auto* slots : {&region.reads, &region.writes})
    for (const Slot& slot : *slots) out += format(" {} [{}]", text(slot.type), join(slot.order, ","));
  for (const Node& node : graph.nodes) {
    if (std::ranges::find(region.nodes, graph[node.results[0]].name) == region.nodes.end()) continue;
    out += format("\n{}", info(node.op).name);
    for (ValueId id : node.operands) out += id == ValueId::none ? " none" : " " + text(graph.type(id));
    for (const auto& [name, value] : node.attributes) out += format(" {}={}", name, text(value));
  }
  return out;
}

// The first of each kind before all others: a network repeats its blocks, and time may not do for all of
// them.
std::vector<size_t> order_of_checks(const Graph& graph, const std::vector<ManifestRegion>& list) {
  std::vector<size_t> out, others;
  std::set<std::string> seen;
  for (size_t i = 0; i < list.size(); ++i)
    (seen.insert(kind_of(graph, list[i])).second ? out : others).push_back(i);
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

Passed too_long(Session& session, double seconds) {
  if (session.weak)
    session.notes.push_back(
        "the task is weak and too large for the oracle: only the reparameterised weights prove something");
  return skipped(format("on the CPU the first region takes {}, and the task is {}", seconds_text(seconds),
                        session.weak ? "weak" : "not weak"));
}

struct Checked {
  Passed passed;
  bool all = false;  // every region, and each of them says something
};

}  // namespace

std::string wrong_region(Session& session) {
  const std::vector<ManifestRegion>& list = session.manifest.regions;
  const GraphCost costs = cost(session.task.graph);
  auto look = [&]() -> Result<void> {
    STITCH_TRY(std::shared_ptr<Attempt> attempt, Attempt::of(session, Weights::task));
    STITCH_TRY(Tensors inputs, session.reference.draw({Weights::task, "task", session.next_seed()}));
    STITCH_TRY(Tensors parameters, session.reference.parameters(Weights::task));
    RegionCheck check(session, *attempt);
    STITCH_CHECK(check.take(session.task.signature.parameters, parameters));
    STITCH_CHECK(check.take(session.task.signature.inputs, inputs));
    Json evidence;
    Pace pace(usual_seconds);
    for (size_t i : order_of_checks(session.task.graph, list)) {
      const double estimate = seconds_of(session.task.graph, costs, list[i]);
      if (!pace.fits(estimate)) break;
      session.progress("which region is wrong: " + list[i].name);
      if (auto right = check.run(i, evidence); !right)
        return user_error(
            right.error().code == error_code::region_wrong ? error_code::region_wrong : "unknown",
            list[i].name);
      pace.did(estimate);
    }
    return {};
  };
  auto looked = look();
  return !looked && looked.error().code == error_code::region_wrong ? looked.error().message : std::string();
}

namespace {

Result<Checked> regions_alone(Session& session, Json& evidence) {
  const std::vector<ManifestRegion>& list = session.manifest.regions;
  if (list.empty()) return Checked{skipped("the program names no regions")};
  if (session.options.quick) return Checked{skipped("quick checks only")};
  const GraphCost costs = cost(session.task.graph);
  double seconds = session.weak ? seconds_for_weak_tasks : usual_seconds;
  if (double first = seconds_of(session.task.graph, costs, list[0]); first > seconds)
    return Checked{too_long(session, first)};
  Weights weights = session.weak ? Weights::reparameterised : Weights::task;
  STITCH_TRY(std::shared_ptr<Attempt> attempt, Attempt::of(session, weights));
  STITCH_TRY(Tensors inputs, session.reference.draw({weights, "task", session.next_seed()}));
  STITCH_TRY(Tensors parameters, session.reference.parameters(weights));
  RegionCheck check(session, *attempt);
  STITCH_CHECK(check.take(session.task.signature.parameters, parameters));
  STITCH_CHECK(check.take(session.task.signature.inputs, inputs));
  auto estimate = [&](size_t i) { return seconds_of(session.task.graph, costs, list[i]); };
  Pace pace(seconds);
  std::vector<size_t> done;
  for (size_t i : order_of_checks(session.task.graph, list)) {
    if (!pace.fits(estimate(i))) break;
    session.progress("region " + list[i].name);
    STITCH_CHECK(check.run(i, evidence));
    pace.did(estimate(i));
    done.push_back(i);
  }
  // Those are behind all the others: a region that wasn't reached proves nothing about the next one.
  int64_t faint = 0, extreme = 0;
  for (size_t i : done) {
    if (session.large() || !pace.fits(2 * estimate(i))) break;
    STITCH_TRY(bool asked, check.run_faint(i, evidence));
    faint += asked;
    STITCH_TRY(bool looked, check.run_extremes(i, evidence));
    extreme += looked;
    pace.did((2.0 * asked + 2.0 * looked) * estimate(i));
  }
  std::string summary = counted(std::ssize(done), "region") + " right alone";
  if (done.size() < list.size())
    summary = format("{} of {} regions right alone in the time there was", done.size(), list.size());
  if (faint) summary += format(", {} on faint rows too", faint);
  if (extreme) summary += format(", {} with extremes at the ends", extreme);
  if (!check.weak().empty() && !session.unproven.empty())
    session.notes.push_back(
        format("region '{}' alone proves little: its result is nearly what it is given", check.weak()));
  return Checked{Passed{summary + (session.weak ? ", with reparameterised weights" : "")},
                 done.size() == list.size() && check.weak().empty()};
}

}  // namespace

Result<Passed> regions(Session& session, Json& evidence) {
  for (size_t i = 0; i < session.proved.size() && session.unproven.empty(); ++i)
    if (!session.proved[i]) session.unproven = format("NaN for '{}'", session.task.signature.outputs[i].name);
  STITCH_TRY(Checked alone, regions_alone(session, evidence));
  if (session.unproven.empty() || session.options.quick) return alone.passed;
  if (alone.passed.skipped || !alone.all)
    return found(
        std::string(inconclusive_code),
        format("{} would have passed everything that was asked, and {}", session.unproven,
               alone.passed.skipped ? alone.passed.summary : "not every region could be checked alone"));
  return alone.passed;
}

}  // namespace stitch::verifier
