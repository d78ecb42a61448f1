#include "plan/spending.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

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
  std::ranges::sort(out);
  return out;
}

}  // namespace stitch::plan
