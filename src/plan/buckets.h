// Other techniques at some sizes of a program for ranges: regions and layouts stay.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// Divides the ranges in at most three by one measure, a size or the product of all, where the cost model's
// best techniques differ by enough; the part with the plan's own sizes stays as it is.
Result<Plan> choose_by_size(const Context& context, Plan plan, const Catalogue& catalogue);

// The plan with each region as it is computed at these sizes.
Plan at_sizes(Plan plan, const Sizes& sizes);
// Seconds saved at the plan's sizes if what is saved all over the ranges were.
double gain_across(const Context& context, const Plan& before, const Plan& after);

// What a variant's code is made from: sizes within its borders, and as many beyond them as it needs and its
// technique takes.
Result<std::shared_ptr<const Instances>> instances_of(const Context& context, const Region& region,
                                                      const Variant& variant);

std::string borders_text(const Variant& variant);  // batch * length <= 12
// Of all regions, in order.
std::vector<Border> borders_of(const Plan& plan);

}  // namespace stitch::plan
