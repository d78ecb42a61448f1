// Precision as money: what is worth its error, within a limit.
#pragma once

#include <cstddef>
#include <vector>

namespace stitch::plan {

// Something that saves time and costs accuracy.
struct Expense {
  double gain = 0;           // seconds, or anything else of which more is better
  std::vector<double> cost;  // squares of errors, by group of outputs
};

// Those that gain most together while no group's sum is over its limit, in order. What costs or gains no
// number is never among them, and a larger limit never gains less.
std::vector<size_t> choose_spending(const std::vector<Expense>& all, const std::vector<double>& limits);

}  // namespace stitch::plan
