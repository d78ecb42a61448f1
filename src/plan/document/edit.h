// Small edits of a plan by region names, for people and language models. The result is checked in full;
// errors name the region.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// How a region is to be implemented; unset fields keep their value or take the technique's default.
struct Implementation {
  std::string technique;
  std::optional<Offer> offer;
  std::map<std::string, int64_t> choices;
};

Result<Plan> reimplement(const Context& context, Plan plan, const std::string& region,
                         const Implementation& implementation, const Catalogue& catalogue);
// Joins several regions into one of this name.
Result<Plan> merge_regions(const Context& context, Plan plan, const std::vector<std::string>& regions,
                           const std::string& name, const Implementation& implementation,
                           const Catalogue& catalogue);
// Splits a region into one per node, with the simplest techniques.
Result<Plan> split_region(const Context& context, Plan plan, const std::string& region,
                          const Catalogue& catalogue);
// The whole forward pass as one region, for a user's or LLM's source: not checked, since the source doesn't
// exist yet.
Result<Plan> as_one_region(const Context& context, const Plan& plan, const std::string& name,
                           const Catalogue& catalogue);

}  // namespace stitch::plan
