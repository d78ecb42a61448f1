#include "verify/adequacy/told_apart.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "reference/sensitivity.h"
#include "verify/numerics/discontinuity.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

using oracle::Known, oracle::Tensor;

template <class T>
bool same_elements(const Tensor& a, const Tensor& b) {
  const T *x = a.data<T>(), *y = b.data<T>();
  for (int64_t i = 0; i < a.elements(); ++i)
    if (x[i] != y[i] && (x[i] == x[i] || y[i] == y[i])) return false;
  return true;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.floating() ? same_elements<double>(a, b) : same_elements<int64_t>(a, b);
}

// Each sample the same.
Tensor of_first_sample(const Tensor& tensor) {
  Tensor out = tensor.copy();
  oracle::with_element(tensor.dtype(), [&]<class T>(T) {
    T* to = out.writable<T>();
    const int64_t each = tensor.elements() / tensor.shape()[0];
    for (int64_t i = each; i < tensor.elements(); ++i) to[i] = to[i - each];
  });
  return out;
}

Tensor changed_leaf(const Tensor& own, LeafChange change, const Tensor* first) {
  switch (change) {
    case LeafChange::frozen: return first ? *first : own;
    case LeafChange::zeros: return filled(own, 0);
    case LeafChange::ones: return filled(own, 1);
    case LeafChange::first: return of_first_sample(own);
    case LeafChange::mean: {
      const double* values = own.data<double>();
      return filled(own, std::reduce(values, values + own.elements()) / static_cast<double>(own.elements()));
    }
    case LeafChange::identity: {
      Tensor out = filled(own, 0);
      for (int64_t i = 0; i < own.shape()[0]; ++i) out.writable<double>()[i * (own.shape()[1] + 1)] = 1;
      return out;
    }
    case LeafChange::none: break;
  }
  return own;
}

std::vector<int32_t> all_nodes(const Graph& graph) {
  std::vector<int32_t> out(graph.nodes.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<ValueId> outputs_of(const Graph& graph) {
  std::vector<ValueId> out = graph.outputs;
  for (const Update& update : graph.updates) out.push_back(update.value);
  return out;
}

double work_of(const Graph& graph, const Node& node) {
  const Cost costs = cost(graph, node);
  return costs.flops + 4 * costs.bytes;
}

// Of one run of everything that depends on a mutant.
double work_of(const Graph& graph, const GraphMutant& mutant) {
  std::vector<bool> changed(graph.values.size());
  if (mutant.leaf != ValueId::none) changed[index_of(mutant.leaf)] = true;
  double sum = 0;
  for (size_t n = mutant.node < 0 ? 0 : static_cast<size_t>(mutant.node); n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool reads =
        static_cast<int32_t>(n) == mutant.node || std::ranges::any_of(node.operands, [&](ValueId id) {
          return id != ValueId::none && changed[index_of(id)];
        });
    if (!reads) continue;
    for (ValueId id : node.results) changed[index_of(id)] = true;
    sum += work_of(graph, node);
  }
  return sum;
}

// The verdict on a program that gives this, but for what another draw may excuse.
bool fails(const Comparison& comparison) {
  constexpr double little = 4;
  const Distance& own = comparison.own;
  if (comparison.passed || may_be_luck(comparison)) return false;
  return comparison.pytorch || own.not_finite > 0 || own.unequal > 0 ||
         own.relative() > little * comparison.budget || own.largest > little * comparison.largest_allowed;
}

double over(const Comparison& comparison) {
  return comparison.budget > 0 ? comparison.own.relative() / comparison.budget : 0;
}

// Of one trial: how errors lie to the difference that a mutant makes, in units of the honest error.
struct Direction {
  double squares = 0, honest = 0, own = 0, variance = 0;

  // How far errors go towards the mutant: 0 is not at all, 1 all the way; and by how much that is uncertain.
  double spread() const {
    return squares > 0 ? std::max(std::sqrt(variance) / squares, 1 / std::sqrt(squares)) : 1;
  }
};

// `own`: the program's outputs; empty: none is asked.
Direction direction_of(const std::vector<double>& honest, const std::vector<double>& own,
                       const std::vector<double>& truth, const std::vector<double>& mutant) {
  Direction out;
  double errors = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double difference = mutant[i] - truth[i], error = honest[i] - truth[i];
    if (!std::isfinite(difference) || !std::isfinite(error)) continue;
    errors += error * error;
    out.squares += difference * difference;
    out.honest += error * difference;
    out.variance += error * error * difference * difference;
    if (i < own.size() && std::isfinite(own[i])) out.own += (own[i] - truth[i]) * difference;
  }
  const double unit = errors / static_cast<double>(std::max<size_t>(1, truth.size()));
  if (unit == 0) return {};
  return {out.squares / unit, out.honest / unit, out.own / unit, out.variance / (unit * unit)};
}

// A program that computes the mutant goes all the way, give or take its rounding. Honest ones that read what
// tensor cores read went 0.05 of the way at most, and mutants 0.98 to 1.02 (conv_norm_gelu, 12 trials each).
// One trial of fp16 says little of a small difference; a dozen together do.
constexpr double most_spread = 1.0 / 16, most_spread_of_one = 1.0 / 2, most_honest = 1.0 / 8, half_way = 0.5;
constexpr int enough_directions = 4;
constexpr double chance = 4;  // deviations that no error goes by chance
// The oracle rounds operands and results alike, each by up to what its class allows: 0.1 to 0.4 of the way
// there.
constexpr double of_oracle = 4;

// Adds up what its scope takes.
struct Taking {
  double& seconds;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  ~Taking() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
};

// What an honest program gives: PyTorch, or the oracle that rounds.
Result<std::vector<std::vector<double>>> honest_outputs(const Session& session, const Trial& trial,
                                                        const Known& known) {
  std::vector<std::vector<double>> out;
  if (trial.pytorch.size() > 0) {
    for (size_t i = 0; i < trial.pytorch.size(); ++i) out.push_back(as_doubles(trial.pytorch[i]));
    return out;
  }
  const std::vector<ValueId> wanted = outputs_of(session.task.graph);
  STITCH_TRY(std::vector<Tensor> rounded, rounded_everywhere(session.task.graph, known, wanted,
                                                             session.options.numerics, trial.question.seed));
  for (const Tensor& tensor : rounded) {
    const std::vector<std::byte> bytes = tensor.to_bytes();
    out.push_back(as_doubles({{tensor.dtype(), tensor.shape(), {}}, bytes}));
  }
  return out;
}

}  // namespace

Result<Recorded> Recorded::of(const Graph& graph, const Known& known, std::vector<int32_t> nodes) {
  Recorded out(graph);
  out.values_ = known;
  out.nodes_ = std::move(nodes);
  for (int32_t n : out.nodes_) {
    const Node& node = graph.node(n);
    std::vector<const Tensor*> operands;
    for (ValueId id : node.operands) operands.push_back(out.find(id));
    STITCH_TRY(std::vector<Tensor> results, oracle::evaluate_node(graph, node, operands));
    for (size_t i = 0; i < results.size(); ++i) out.values_.insert_or_assign(node.results[i], results[i]);
  }
  return out;
}

const Tensor* Recorded::find(ValueId id) const {
  const auto found = values_.find(id);
  return found == values_.end() ? nullptr : &found->second;
}

Result<Known> Recorded::changed_by(const GraphMutant& mutant, const Known& first) const {
  Known changed;
  if (mutant.leaf != ValueId::none) {
    const Tensor* own = find(mutant.leaf);
    const auto before = first.find(mutant.leaf);
    if (!own) return changed;
    const Tensor other = changed_leaf(*own, mutant.change, before == first.end() ? nullptr : &before->second);
    if (!same_numbers(other, *own)) changed.emplace(mutant.leaf, other);
    STITCH_CHECK(carry(changed, -1));
    return changed;
  }
  const Node& node = graph_->node(mutant.node);
  std::vector<const Tensor*> operands;
  std::vector<Tensor> results;
  for (ValueId id : node.operands) operands.push_back(find(id));
  for (ValueId id : node.results) results.push_back(*find(id));
  STITCH_TRY(std::vector<Tensor> others, mutant.instead({*graph_, node, operands, results}));
  for (size_t i = 0; i < others.size(); ++i)
    if (!same_numbers(others[i], results[i])) changed.emplace(node.results[i], others[i]);
  STITCH_CHECK(carry(changed, mutant.node));
  return changed;
}

Result<void> Recorded::carry(Known& changed, int32_t after) const {
  if (changed.empty()) return {};
  for (int32_t n : nodes_) {
    const Node& node = graph_->node(n);
    if (n <= after || std::ranges::none_of(node.operands, [&](ValueId id) { return changed.contains(id); }))
      continue;
    std::vector<const Tensor*> operands;
    for (ValueId id : node.operands) {
      const auto found = changed.find(id);
      operands.push_back(found == changed.end() ? find(id) : &found->second);
    }
    STITCH_TRY(std::vector<Tensor> results, oracle::evaluate_node(*graph_, node, operands));
    for (size_t i = 0; i < results.size(); ++i)
      if (!same_numbers(results[i], *find(node.results[i]))) changed.emplace(node.results[i], results[i]);
  }
  return {};
}

Adequacy::Adequacy(const Graph& graph, double work)
    : graph_(graph), left_work_(work), fixed_(graph.values.size()), seen_(graph.values.size()) {
  for (const Value& value : graph.values) recorded_bytes_ += 8 * value.type.elements();
  for (size_t i = 0; i < fixed_.size(); ++i) fixed_[i] = graph.values[i].role == Role::constant;
  for (const Node& node : graph.nodes)
    for (ValueId id : node.results)
      fixed_[index_of(id)] = std::ranges::all_of(node.operands, [&](ValueId operand) {
        return operand == ValueId::none || fixed_[index_of(operand)];
      });
  for (GraphMutant& mutant : mutants_of(graph)) {
    const double each = work_of(graph, mutant);
    const size_t place = index_of(mutant.node < 0 ? mutant.leaf : graph.node(mutant.node).results[0]);
    states_.push_back({.mutant = std::move(mutant), .place = place, .work = each});
  }
  // Most are told apart by the first trial: half of the work is theirs.
  std::vector<size_t> order(states_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(states_.size());
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (const Node& node : graph.nodes) graph_work_ += work_of(graph, node);
  double planned = 0;
  for (size_t i : order) {
    if (states_[i].mutant.last_resort) continue;
    planned += states_[i].work;
    if (planned > work / 2) states_[i].fate = Fate::not_asked;
  }
}

Result<void> Adequacy::take(const Session& session, const Trial& trial, const Tensors& own, bool directions) {
  constexpr int64_t most_bytes = int64_t{1} << 30;
  if (left() == 0) return {};
  // Recorded once, and once more as an honest program may round.
  if (trial.held || recorded_bytes_ > most_bytes || left_work_ < 2 * graph_work_) {
    for (State& state : states_) state.left_out = true;
    return {};
  }
  left_work_ -= 2 * graph_work_;
  const Taking taking{seconds_};
  STITCH_TRY(Tensors parameters, session.reference.parameters(trial.question.weights));
  STITCH_TRY(Known known, oracle_values(session.task, parameters, trial.inputs));
  if (first_.empty()) first_ = known;
  auto recorded = Recorded::of(graph_, known, all_nodes(graph_));
  if (!recorded) return {};  // the model itself raises there
  std::vector<std::vector<double>> honest;
  const bool calm = !is_harsh(trial.question) && trial.question.weights != Weights::faint;
  if (calm && directions) {
    STITCH_TRY(honest, honest_outputs(session, trial, known));
  }
  // The first trial tells most of them apart; those behind it are to have their share, too.
  constexpr double of_first = 0.5, of_others = 0.125;
  const double least = left_work_ * (1 - (trials_++ ? of_others : of_first));
  const size_t begin = begin_;
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[(begin + i) % states_.size()];
    if (!is_left(state) || is_needless(state)) continue;
    if (left_work_ < least) {
      state.left_out = true;
      continue;
    }
    STITCH_CHECK(ask(session, trial, *recorded, state, honest, own));
    if (left_work_ < least) begin_ = begin + i + 1;
  }
  return {};
}

Result<void> Adequacy::ask(const Session& session, const Trial& trial, const Recorded& recorded, State& state,
                           const std::vector<std::vector<double>>& honest, const Tensors& own) {
  auto changed = recorded.changed_by(state.mutant, first_);
  // Where it is the truth there was nothing to carry on.
  if (!changed || !changed->empty()) left_work_ -= state.work;
  if (!changed) {  // it can't go on: an index out of range
    state.fate = Fate::by_budget;
    seen_[state.place] = true;
    return {};
  }
  // What is the same here is the same in every call, as far as constants go.
  if (fixed_[state.place] &&
      std::ranges::all_of(*changed, [&](const auto& one) { return fixed_[index_of(one.first)]; })) {
    state.fate = Fate::no_mutant;
    return {};
  }
  bool seen = false;
  const std::vector<ValueId> wanted = outputs_of(graph_);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = changed->find(wanted[i]);
    if (found == changed->end()) continue;
    state.differed = seen_[state.place] = true;
    const TensorType type = session.task.signature.outputs[i].type;
    const std::vector<std::byte> bytes = found->second.to_bytes(type.dtype);
    const TensorBytes values{{type.dtype, type.shape, {}}, bytes};
    STITCH_TRY(Comparison comparison, judge_at_once(session, trial, i, values));
    if (fails(comparison)) {
      state.fate = Fate::by_budget;
      return {};
    }
    state.closest = std::max(state.closest, over(comparison));
    // What any program may be off by is no direction.
    if (i >= honest.size() || !is_floating(type.dtype) || seen ||
        comparison.own.relative() < judging_of(session, trial, i).floor)
      continue;
    // Not as the output's dtype rounds it: any program's outputs go that way.
    const std::vector<double> exact(found->second.data<double>(),
                                    found->second.data<double>() + found->second.elements());
    const Direction direction =
        direction_of(honest[i], own.size() > i ? as_doubles(own[i]) : std::vector<double>(),
                     as_doubles(trial.truth[i]), exact);
    if (direction.spread() > most_spread_of_one) continue;
    seen = true;
    ++state.directions;
    state.squares += direction.squares;
    state.honest += direction.honest / (trial.pytorch.size() > 0 ? 1 : of_oracle);
    state.own += direction.own;
    state.variance += direction.variance;
    state.always_nearer &= direction.own > (half_way - chance * direction.spread()) * direction.squares;
  }
  return {};
}

Result<void> Adequacy::take_region(const Known& known, std::vector<int32_t> nodes,
                                   std::span<const ValueId> writes, std::span<const Tensor> expected,
                                   std::span<const Judging> judging) {
  const std::set<int32_t> inside(nodes.begin(), nodes.end());
  auto asked = [&](const State& state) {
    return is_left(state) && state.mutant.node >= 0 && inside.contains(state.mutant.node);
  };
  if (left_work_ <= 0 || std::ranges::none_of(states_, asked)) return {};
  const Taking taking{seconds_};
  STITCH_TRY(const Recorded recorded, Recorded::of(graph_, known, std::move(nodes)));
  for (State& state : states_) {
    if (!asked(state) || left_work_ <= 0) continue;
    left_work_ -= state.work;
    auto changed = recorded.changed_by(state.mutant, first_);
    if (!changed) {
      state.fate = Fate::by_region;
      continue;
    }
    for (size_t i = 0; i < writes.size(); ++i) {
      const auto found = changed->find(writes[i]);
      if (found == changed->end()) continue;
      state.differed = seen_[state.place] = true;
      const DType dtype = expected[i].floating() ? DType::f64 : expected[i].dtype();
      const std::vector<std::byte> exact = expected[i].to_bytes(dtype), other = found->second.to_bytes(dtype);
      const TensorType type{dtype, expected[i].shape(), {}};
      const Comparison comparison = compare({type, other}, {type, exact}, nullptr, judging[i]);
      state.closest = std::max(state.closest, over(comparison));
      if (!comparison.passed) state.fate = Fate::by_region;
    }
  }
  return {};
}

bool Adequacy::is_told_by_direction(const State& state) const {
  const Direction all{state.squares, state.honest, state.own, state.variance};
  return is_left(state) && state.directions >= enough_directions && all.spread() <= most_spread &&
         std::fabs(all.honest) <= most_honest * all.squares;
}

bool Adequacy::wants_directions(int more) const {
  return std::ranges::any_of(states_, [&](const State& state) {
    if (!is_left(state) || state.directions == 0 || is_told_by_direction(state)) return false;
    const Direction all{state.squares, state.honest, state.own, state.variance};
    return all.spread() * std::sqrt(state.directions) <= most_spread * std::sqrt(state.directions + more);
  });
}

std::string Adequacy::nearer_to_a_mutant() const {
  for (const State& state : states_)
    if (is_told_by_direction(state) && state.always_nearer && state.own > half_way * state.squares &&
        state.own < (1 + half_way) * state.squares)
      return format("{} {}", state.mutant.where, state.mutant.what);
  return "";
}

size_t Adequacy::left() const {
  return static_cast<size_t>(std::ranges::count_if(
      states_, [&](const State& state) { return is_left(state) && !is_needless(state); }));
}

std::string Adequacy::untested() const {
  if (trials_ < 2) return "";
  std::vector<bool> unasked(graph_.values.size());  // by place, for lack of work
  for (const State& state : states_)
    if (state.fate == Fate::not_asked || state.left_out) unasked[state.place] = true;
  std::vector<bool> behind(graph_.values.size());  // a branch that was never taken: backwards from it
  for (const State& state : states_) {
    if (!is_left(state) || state.differed || unasked[state.place]) continue;
    const GraphMutant& mutant = state.mutant;
    if (mutant.change == LeafChange::frozen && graph_[mutant.leaf].role == Role::input && seen_[state.place])
      return mutant.where + " was the same in every question";
    if (mutant.taken && seen_[state.place] && !fixed_[index_of(graph_.node(mutant.node).operands[0])])
      behind[index_of(graph_.node(mutant.node).operands[static_cast<size_t>(3 - mutant.taken)])] = true;
  }
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const Node& node = graph_.nodes[n];
    const size_t place = index_of(node.results[0]);
    if (!behind[place] || seen_[place] || fixed_[place] || unasked[place]) continue;
    for (ValueId id : node.operands)
      if (id != ValueId::none) behind[index_of(id)] = true;
  }
  for (const State& state : states_)
    if (state.mutant.last_resort && behind[state.place] && !seen_[state.place] && !fixed_[state.place] &&
        !unasked[state.place])
      return state.mutant.where + " lies behind a branch that no question took";
  return "";
}

Json Adequacy::evidence() const {
  std::map<Fate, int> counts;
  Json unproven = Json::array();
  int within_budget = 0;
  int made = 0;
  for (const State& state : states_) {
    if (state.fate == Fate::no_mutant || is_needless(state)) continue;
    ++made;
    const bool by_direction = is_told_by_direction(state);
    const bool left_out = is_left(state) && !by_direction && state.left_out;
    ++counts[by_direction ? Fate::by_direction : left_out ? Fate::not_asked : state.fate];
    if (by_direction || left_out || !is_left(state)) continue;
    within_budget += state.differed;
    const std::string why =
        state.differed ? format("it moves outputs by at most {:.2g} of what the class allows", state.closest)
        : state.mutant.change == LeafChange::frozen ? "it was the same in every trial"
                                                    : "no trial's outputs depend on it";
    unproven.push_back({{"where", state.mutant.where}, {"what", state.mutant.what}, {"why", why}});
  }
  return {{"mutants", made},
          {"told_apart", counts[Fate::by_budget] + counts[Fate::by_region] + counts[Fate::by_direction]},
          {"by_region", counts[Fate::by_region]},
          {"by_direction", counts[Fate::by_direction]},
          {"not_asked", counts[Fate::not_asked]},
          {"within_budget", within_budget},
          {"seconds", seconds_},
          {"untested", untested()},
          {"unproven", std::move(unproven)}};
}

std::string adequacy_text(const Json& evidence) {
  constexpr size_t shown = 3;
  std::string out = format("{} of {} mutants of the graph told apart", evidence["told_apart"].get<int>(),
                           evidence["mutants"].get<int>());
  if (const int count = evidence["not_asked"].get<int>()) out += format(", {} not asked", count);
  const Json& unproven = evidence["unproven"];
  if (unproven.empty()) return out;
  out += format("; unproven: {}", unproven.size());
  for (size_t i = 0; i < std::min(shown, unproven.size()); ++i)
    out += format("{} {} {}", i ? ";" : ",", word(unproven[i], "where"), word(unproven[i], "what"));
  return unproven.size() > shown ? out + "; …" : out;
}

}  // namespace stitch::verifier
