#include "agents/loop/part_of_step.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "plan/document/difference.h"

namespace stitch::agents {

std::string wrong_region_of(const LedgerEntry& entry) {
  if (!entry.report || !entry.report->evidence) return {};
  if (entry.report->code == error_code::region_wrong) {
    const Json regions = entry.report->evidence->value("regions", Json::array());
    return regions.empty() ? "" : word(regions.back(), "region");
  }
  return entry.outcome == Outcome::wrong ? word(*entry.report->evidence, "wrong_region") : "";
}

std::optional<plan::Plan> without_region(const Graph& graph, const plan::Plan& before,
                                         const plan::Plan& after, const std::string& region) {
  const std::vector<plan::Change> all = plan::difference(graph, before, after);
  std::vector<plan::Change> kept;
  for (const plan::Change& change : all)
    if (std::ranges::find(change.after, region) == change.after.end()) kept.push_back(change);
  if (kept.empty() || kept.size() == all.size()) return std::nullopt;
  auto plan = plan::take_changes(graph, before, after, kept);
  if (!plan) return std::nullopt;
  return *std::move(plan);
}

}  // namespace stitch::agents
