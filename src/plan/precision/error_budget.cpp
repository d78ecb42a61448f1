#include "plan/precision/error_budget.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"

namespace stitch::plan {

namespace {

bool multiplies(Op op) {
  return is_convolution(op) || op == Op::linear || op == Op::matmul || op == Op::einsum ||
         op == Op::attention || op == Op::rnn;
}

std::optional<Precision> precision_of(DType dtype) {
  if (dtype == DType::f16) return Precision::f16;
  if (dtype == DType::bf16) return Precision::bf16;
  return std::nullopt;
}

void add(std::vector<double>& sums, const MeasuredErrors::Place* place, Precision precision,
         double times = 1) {
  for (size_t g = 0; g < sums.size(); ++g)
    sums[g] += place ? times * place->groups[g].of(precision) : std::nan("");
}

// It has so few bits already.
bool is_stored_so(const Plan& plan, const Region& region, ValueId operand, Precision precision) {
  if (std::ranges::find(region.reads, operand) == region.reads.end()) return false;
  const auto stored = precision_of(plan.storage[index_of(operand)].dtype);
  return stored && (stored == precision || precision == Precision::tf32);
}

// One sum after the other is cut off towards zero: all elements of a result change by the same part.
// Measured on an H200: 5.5e-6 for 1024 products of positive numbers, a quarter of that where they balance.
double cut_off_part(const TruncatedSums& sums, double length) {
  constexpr double cut_off = 5.5e-6 / 1024, balanced_part = 0.25;
  return cut_off * std::min(sums.length, length) * (sums.balanced ? balanced_part : 1) *
         (sums.centred ? centred_part : 1);
}

}  // namespace

const MeasuredErrors::Place* measured_value(const MeasuredErrors& errors, const Graph& graph, ValueId id) {
  auto measured = [&](ValueId each) {
    auto found = errors.values.find(graph[each].name);
    return found == errors.values.end() ? nullptr : &found->second;
  };
  if (const auto* found = measured(id)) return found;
  // A copy is as far from the outputs as what it copies.
  for (const Node& node : graph.nodes)
    if (node.op == Op::cast && node.results[0] == id) return measured(node.operands[0]);
  auto is_along_channels = [&](ValueId other) {
    return other != id && graph.type(other).elements() < graph.type(id).elements();
  };
  for (const Node& node : graph.nodes)
    if (node.op == Op::add && std::ranges::find(node.operands, id) != node.operands.end() &&
        std::ranges::any_of(node.operands, is_along_channels))
      if (const auto* found = measured(node.results[0])) return found;
  return nullptr;
}

bool fits_half(const MeasuredErrors& errors, const Graph& graph, ValueId id) {
  constexpr double largest = 65504, room = 8;
  const auto* found = measured_value(errors, graph, id);
  return !found || found->largest <= largest / room;
}

double cut_off_error(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                     const TruncatedSums& sums, double length) {
  const auto* place = measured_value(errors, graph, product.results[0]);
  if (!place) return std::nan("");
  double most = 0;
  for (const RoundingShares& each : place->groups) {
    if (!std::isfinite(each.scale)) return std::nan("");
    most = std::max(most, each.scale);
  }
  return cut_off_part(sums, length) * std::sqrt(most);
}

std::vector<double> noise_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                  double part) {
  constexpr double of_f16 = 2.2e-4;  // what rounding to fp16 changes a value by, root mean square
  const double times = part * part / of_f16 / of_f16;
  std::vector<double> out(errors.groups.size());
  // What rounded operands do is as large for small elements of the result as for large ones, which a softmax
  // tells apart, and a part of it is taken off again with a mean.
  const auto* found = errors.product(graph[product.results[0]].name, product.module);
  if (found && found->operands.size() >= 2) {
    for (size_t i = 0; i < 2; ++i) add(out, &found->operands[i], Precision::f16, times / 2);
    return out;
  }
  add(out, measured_value(errors, graph, product.results[0]), Precision::f16, times);
  return out;
}

std::vector<double> operand_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                    Precision precision) {
  std::vector<double> out(errors.groups.size());
  if (precision == Precision::f32) return out;
  const MeasuredErrors::Product* found = errors.product(graph[product.results[0]].name, product.module);
  if (!found) {
    add(out, nullptr, precision);
    return out;
  }
  for (const MeasuredErrors::Place& operand : found->operands) add(out, &operand, precision);
  // Probabilities are an operand, too, and multiply the values.
  if (product.op == Op::attention && found->operands.size() > 2) add(out, &found->operands[2], precision);
  return out;
}

std::vector<double> error_squares(const Context& context, const Plan& plan, const Region& region) {
  const MeasuredErrors& errors = *context.torch.errors;
  const Graph& graph = context.graph;
  std::vector<double> out(errors.groups.size());
  const Precision precision = region.technique->operand_precision(context, region);
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (!multiplies(node.op)) continue;
    if (precision != Precision::f32) {
      std::vector<double> squares = operand_squares(errors, graph, node, precision);
      const auto* found = errors.product(graph[node.results[0]].name, node.module);
      if (found && !found->operands.empty() && is_stored_so(plan, region, node.operands[0], precision))
        for (size_t g = 0; g < squares.size(); ++g) squares[g] -= found->operands[0].groups[g].of(precision);
      for (size_t g = 0; g < out.size(); ++g) out[g] += std::max(0.0, squares[g]) + 0 * squares[g];
    }
    if (region.technique->rounds_product(context, plan, region))
      add(out, measured_value(errors, graph, node.results[0]), Precision::f16);
    if (const double part = region.technique->added_error(context, region); part > 0) {
      const std::vector<double> squares = noise_squares(errors, graph, node, part);
      for (size_t g = 0; g < out.size(); ++g)
        if (std::isfinite(squares[g])) out[g] += squares[g];
    }
    if (auto sums = region.technique->truncated_sums(context, region)) {
      const double part =
          cut_off_part(*sums, static_cast<double>(region.choice(sums->knob, std::llround(sums->length))));
      if (const auto* place = measured_value(errors, graph, node.results[0]))
        for (size_t g = 0; g < out.size(); ++g) out[g] += part * part * place->groups[g].scale;
    }
  }
  for (ValueId id : region.writes)
    if (auto stored = precision_of(plan.storage[index_of(id)].dtype))
      add(out, measured_value(errors, graph, id), *stored);
  return out;
}

std::optional<PlanErrors> errors_of(const Context& context, const Plan& plan) {
  if (!context.torch.errors) return std::nullopt;
  PlanErrors out;
  out.groups.resize(context.torch.errors->groups.size());
  for (const Region& region : plan.regions) {
    std::vector<double> squares = error_squares(context, plan, region);
    if (std::ranges::any_of(squares, [](double square) { return !std::isfinite(square); })) {
      out.unknown.push_back(region.name);
      squares.assign(squares.size(), 0);
    }
    for (size_t g = 0; g < squares.size(); ++g) out.groups[g] += squares[g];
    out.regions.push_back(std::move(squares));
  }
  return out;
}

bool stays_within(const PlanErrors& before, const PlanErrors& after, double share) {
  return after.unknown.size() <= before.unknown.size() &&
         std::ranges::equal(after.groups, before.groups,
                            [&](double now, double then) { return now <= std::max(share, then); });
}

size_t PlanErrors::group() const {
  return static_cast<size_t>(std::ranges::max_element(groups) - groups.begin());
}

double PlanErrors::spent() const { return groups.empty() ? 0 : std::sqrt(groups[group()]); }

double PlanErrors::share(size_t region) const {
  if (groups.empty() || groups[group()] <= 0) return 0;
  return regions[region][group()] / groups[group()];
}

std::string blame(const Context& context, const Plan& plan, size_t most) {
  const std::optional<PlanErrors> errors = errors_of(context, plan);
  if (!errors) return {};
  std::vector<size_t> order(plan.regions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t r) { return errors->share(r); });
  std::vector<std::string> out;
  for (size_t r : order)
    if (out.size() < most && errors->share(r) >= 0.01)
      out.push_back(format("{} ({:.0f} %)", plan.regions[r].name, 100 * errors->share(r)));
  return join(out, ", ");
}

namespace {

constexpr int64_t pieces = 8192;  // of a limit: each cost is rounded up to one

// Of the group that it is the largest part of: sums of these are never below any group's sum.
std::optional<int64_t> pieces_of(const Expense& expense, const std::vector<double>& limits) {
  if (!std::isfinite(expense.gain) || expense.gain <= 0 || expense.cost.size() != limits.size())
    return std::nullopt;
  double most = 0;
  for (size_t g = 0; g < limits.size(); ++g) {
    const double cost = expense.cost[g];
    if (!(cost >= 0) || !std::isfinite(cost)) return std::nullopt;
    if (cost == 0) continue;
    if (!(limits[g] > 0) || cost > limits[g]) return std::nullopt;
    most = std::max(most, cost / limits[g]);
  }
  return static_cast<int64_t>(std::ceil(most * pieces));
}

// The sums of single groups may be far below those of every item's largest part: what still fits all of them
// is taken, too, most gain for its cost first.
void take_what_fits(const std::vector<Expense>& all, std::vector<double> limits,
                    const std::vector<size_t>& candidates, std::vector<size_t>& taken) {
  auto spend = [&](size_t i) {
    for (size_t g = 0; g < limits.size(); ++g) limits[g] -= all[i].cost[g];
  };
  for (size_t i : taken) spend(i);
  std::vector<std::pair<double, size_t>> left;
  for (size_t i : candidates)
    if (std::ranges::find(taken, i) == taken.end())
      left.emplace_back(all[i].gain / std::ranges::max(all[i].cost), i);
  std::ranges::stable_sort(left, std::ranges::greater{}, [](const auto& each) { return each.first; });
  for (const auto& [rate, i] : left) {
    if (!std::ranges::equal(all[i].cost, limits, std::ranges::less_equal{})) continue;
    spend(i);
    taken.push_back(i);
  }
}

}  // namespace

std::vector<size_t> choose_spending(const std::vector<Expense>& all, const std::vector<double>& limits) {
  std::vector<size_t> out, candidates;
  std::vector<int64_t> costs;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::optional<int64_t> cost = pieces_of(all[i], limits);
    if (!cost) continue;
    if (*cost == 0) {
      out.push_back(i);
      continue;
    }
    candidates.push_back(i);
    costs.push_back(*cost);
  }
  // The knapsack of whole pieces, by what is spent.
  std::vector<double> best(pieces + 1);
  std::vector<std::vector<bool>> taken(candidates.size(), std::vector<bool>(pieces + 1));
  for (size_t i = 0; i < candidates.size(); ++i)
    for (int64_t spent = pieces; spent >= costs[i]; --spent) {
      const auto with = static_cast<size_t>(spent), without = static_cast<size_t>(spent - costs[i]);
      const double gain = best[without] + all[candidates[i]].gain;
      if (gain <= best[with]) continue;
      best[with] = gain;
      taken[i][with] = true;
    }
  int64_t left = pieces;
  for (size_t i = candidates.size(); i-- > 0;)
    if (taken[i][static_cast<size_t>(left)]) {
      out.push_back(candidates[i]);
      left -= costs[i];
    }
  take_what_fits(all, limits, candidates, out);
  std::ranges::sort(out);
  return out;
}

}  // namespace stitch::plan
