// Which reductions of precision to make within an error budget: a knapsack problem.
#pragma once

#include <cstddef>
#include <vector>

namespace stitch::plan {

// One reduction of precision: the time it saves and the error it adds.
struct Expense {
  double gain = 0;           // seconds, or any other gain
  std::vector<double> cost;  // squares of errors, by group of outputs
};

// The ones with the largest total gain while no group's sum exceeds its limit, in order. Entries with a NaN
// cost or gain are never chosen, and a larger limit never gains less.
std::vector<size_t> choose_spending(const std::vector<Expense>& all, const std::vector<double>& limits);

}  // namespace stitch::plan
