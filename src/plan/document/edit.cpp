#include "plan/document/edit.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "plan/document/difference.h"
#include "plan/document/document.h"

namespace stitch::plan {

namespace {

Result<Region*> find(Plan& plan, const std::string& name) {
  auto found = std::ranges::find(plan.regions, name, &Region::name);
  if (found == plan.regions.end())
    return user_error("plan", format("there is no region '{}'", shorten(printable(name), 60)));
  return &*found;
}

Result<void> implement(const Context& context, Region& region, const Implementation& how,
                       const Catalogue& catalogue) {
  if (!how.technique.empty()) {
    const Technique* technique = catalogue.find(how.technique);
    if (!technique)
      return at(
          format("plan: region '{}'", region.name),
          user_error("plan", format("there is no technique '{}'", shorten(printable(how.technique), 60))));
    if (technique != region.technique) {
      region.technique = technique;
      region.choices.clear();
      region.source.reset();
      const std::vector<Offer> offers = technique->offers(context, region);
      // As it was, where the technique offers that.
      if (!offers.empty() && std::ranges::find(offers, region.offer) == offers.end())
        region.offer = offers.front();
    }
  }
  if (how.offer) region.offer = *how.offer;
  for (const auto& [knob, value] : how.choices) region.choices[knob] = value;
  return {};
}

Result<Plan> checked(const Context& context, Plan plan) {
  STITCH_TRY(plan.regions, in_running_order(context.graph, std::move(plan.regions)));
  STITCH_CHECK(check_whole(context, plan));
  return plan;
}

// Sections are of the plan as it was.
void run_one_after_the_other(Plan& plan) {
  for (Region& region : plan.regions) region.section = region.branch = 0;
}

}  // namespace

Result<Plan> reimplement(const Context& context, Plan plan, const std::string& region,
                         const Implementation& implementation, const Catalogue& catalogue) {
  STITCH_TRY(Region * found, find(plan, region));
  STITCH_CHECK(implement(context, *found, implementation, catalogue));
  return checked(context, std::move(plan));
}

Result<Plan> merge_regions(const Context& context, Plan plan, const std::vector<std::string>& regions,
                           const std::string& name, const Implementation& implementation,
                           const Catalogue& catalogue) {
  if (regions.size() < 2) return user_error("plan", "merging needs at least two regions");
  Region merged;
  for (const std::string& each : regions) {
    STITCH_TRY(Region * found, find(plan, each));
    if (merged.nodes.empty())
      merged = *found;
    else
      merged.nodes.insert(merged.nodes.end(), found->nodes.begin(), found->nodes.end());
    plan.regions.erase(plan.regions.begin() + (found - plan.regions.data()));
  }
  merged.name = name.empty() ? merged.name : name;
  std::ranges::sort(merged.nodes);
  complete(context.graph, merged);
  run_one_after_the_other(plan);
  merged.section = merged.branch = 0;
  STITCH_CHECK(implement(context, merged, implementation, catalogue));
  plan.regions.push_back(std::move(merged));
  return checked(context, std::move(plan));
}

Result<Plan> split_region(const Context& context, Plan plan, const std::string& region,
                          const Catalogue& catalogue) {
  STITCH_TRY(Region * found, find(plan, region));
  const Region whole = *found;
  if (whole.nodes.size() < 2)
    return at(format("plan: region '{}'", whole.name),
              user_error("plan", "has only one node: nothing to split"));
  plan.regions.erase(plan.regions.begin() + (found - plan.regions.data()));
  run_one_after_the_other(plan);
  for (int32_t n : whole.nodes) {
    Region one{.name = format("{}_{}", whole.name, plan.regions.size()), .nodes = {n}};
    complete(context.graph, one);
    STITCH_TRY(one.technique, catalogue.plain(context, one));
    plan.regions.push_back(std::move(one));
  }
  return checked(context, std::move(plan));
}

Result<Plan> as_one_region(const Context& context, const Plan& plan, const std::string& name,
                           const Catalogue& catalogue) {
  Plan out = empty_plan(context.graph, plan.numerics);
  Region all{.name = name};
  auto takes =
      std::ranges::find_if(catalogue.all(), [](const Technique* each) { return each->takes_source(); });
  require(takes != catalogue.all().end(), "a technique takes sources");
  all.technique = *takes;
  all.nodes.resize(context.graph.nodes.size());
  std::iota(all.nodes.begin(), all.nodes.end(), 0);
  complete(context.graph, all);
  out.regions.push_back(std::move(all));
  STITCH_CHECK(check(context.graph, out));
  return out;
}

}  // namespace stitch::plan
