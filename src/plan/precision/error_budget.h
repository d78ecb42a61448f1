// How much of the numerics class's error budget a plan uses, region by region, from errors measured on the
// model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// The part of the truncation error of tensor-core sums that remains when rows are centred.
constexpr double centred_part = 0.75;

struct PlanErrors {
  std::vector<std::vector<double>> regions;  // in the plan's order; squared errors, by group
  std::vector<double> groups;                // the sums
  std::vector<std::string> unknown;          // regions that round values without a measurement

  // Error over allowed error of the group that has used most; 1 is the whole budget.
  double spent() const;
  // A region's part of that group's squared error.
  double share(size_t region) const;
  size_t group() const;  // the one that has used most
};

// Nothing without measurements.
std::optional<PlanErrors> errors_of(const Context& context, const Plan& plan);
// No output is over its share of the budget that wasn't before: other steps made those so.
bool stays_within(const PlanErrors& before, const PlanErrors& after, double share);
// Squared errors of one region, by group; NaN where what it rounds was not measured.
std::vector<double> error_squares(const Context& context, const Plan& plan, const Region& region);

// The measurement of a value; null if there is none. A product whose bias a pass split off stands for their
// sum.
const MeasuredErrors::Place* measured_value(const MeasuredErrors& errors, const Graph& graph, ValueId id);
// Is it in fp16's range, with room for inputs that are larger than those that were measured? True where
// nothing was measured.
bool fits_half(const MeasuredErrors& errors, const Graph& graph, ValueId id);
// The error that a product adds when its operands are rounded to this precision. NaN if not measured.
std::vector<double> operand_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                    Precision precision);
// The error of a product whose tensor-core sums are truncated after this many terms, as a share of the
// allowed error (not squared: truncation errors have one sign, and add up). NaN if not measured.
double cut_off_error(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                     const TruncatedSums& sums, double length);
// The squared error, by group, of operand noise that changes a product's result by this part; NaN if not
// measured.
std::vector<double> noise_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                  double part);
// "layer4_0_conv1 (31 %), fc (12 %)": the regions with the largest shares; empty without measurements.
std::string blame(const Context& context, const Plan& plan, size_t most = 3);

// Which reductions of precision to make within an error budget: a knapsack problem.
// One reduction of precision: the time it saves and the error it adds.
struct Expense {
  double gain = 0;           // seconds, or any other gain
  std::vector<double> cost;  // squares of errors, by group of outputs
};

// The ones with the largest total gain while no group's sum exceeds its limit, in order. Entries with a NaN
// cost or gain are never chosen, and a larger limit never gains less.
std::vector<size_t> choose_spending(const std::vector<Expense>& all, const std::vector<double>& limits);

}  // namespace stitch::plan
