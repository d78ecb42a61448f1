// What a plan spends of the class's error budget, region by region, by what was measured of the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// What centred rows leave of the error of sums that are cut off.
constexpr double centred_part = 0.75;

struct PlanErrors {
  std::vector<std::vector<double>> regions;  // as the plan has them; squares of errors, by group
  std::vector<double> groups;                // the sums
  std::vector<std::string> unknown;          // regions that round what nobody measured

  // Of the group that has spent most: its error over what is allowed, so 1 is all of it.
  double spent() const;
  // A region's part of that group's square.
  double share(size_t region) const;
  size_t group() const;  // the one that has spent most
};

// Nothing where nobody measured.
std::optional<PlanErrors> errors_of(const Context& context, const Plan& plan);
// Of one region: squares by group; a NaN where nobody measured what it rounds.
std::vector<double> error_squares(const Context& context, const Plan& plan, const Region& region);

// A value, as it was measured; null where nobody did. A product whose bias a pass set apart stands for their
// sum.
const MeasuredErrors::Place* measured_value(const MeasuredErrors& errors, const Graph& graph, ValueId id);
// Of operands: what the product of a node adds when they are rounded so. NaN where nobody measured it.
std::vector<double> operand_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                    Precision precision);
// What sums that tensor cores cut off after this many products do to a product's result, as a share of the
// error that is allowed (not of its square: such errors all go one way, and add up). NaN where nobody
// measured.
double cut_off_error(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                     const TruncatedSums& sums, double length);
// What noise of its operands that changes a product's result by this part does, by group; NaN where nobody
// measured.
std::vector<double> noise_squares(const MeasuredErrors& errors, const Graph& graph, const Node& product,
                                  double part);
// "layer4_0_conv1 (31 %), fc (12 %)": the regions with the largest shares; empty where nobody measured.
std::string blame(const Context& context, const Plan& plan, size_t most = 3);

}  // namespace stitch::plan
