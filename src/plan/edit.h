// Small changes of a plan by region names, as a person or a language model asks for them. The result is
// checked in full; errors name the region.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// How a region is to be implemented; what isn't said stays, or is the technique's own.
struct Implementation {
  std::string technique;
  std::optional<Offer> offer;
  std::map<std::string, int64_t> choices;
};

Result<Plan> reimplement(const Context& context, Plan plan, const std::string& region,
                         const Implementation& implementation, const Catalogue& catalogue);
// Several regions as one of this name.
Result<Plan> merge_regions(const Context& context, Plan plan, const std::vector<std::string>& regions,
                           const std::string& name, const Implementation& implementation,
                           const Catalogue& catalogue);
// A region as one a node, by the simplest techniques.
Result<Plan> split_region(const Context& context, Plan plan, const std::string& region,
                          const Catalogue& catalogue);
// The whole pass as one region, for somebody's source: not checked, since there is none yet.
Result<Plan> as_one_region(const Context& context, const Plan& plan, const std::string& name,
                           const Catalogue& catalogue);

}  // namespace stitch::plan
