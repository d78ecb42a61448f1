#include "plan/precision/spending.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace stitch::plan {

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
