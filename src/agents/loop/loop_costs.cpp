#include <nlohmann/json.hpp>

#include "agents/loop/loop.h"
#include "agents/loop/measured_gain.h"
#include "plan/cost/cost_fit.h"
#include "verify/measured.h"

namespace stitch::agents {

// Regions whose kernels the profile gate measured, beside the cost model's parts: what a calibration is made
// from. Of every program that was right, the plain one too: a model that only saw what was chosen would
// think well of everything else.
void Loop::keep_costs(const std::string& step, const plan::Plan& plan, const verifier::Verdict& verdict) {
  const std::map<std::string, double> measured = verifier::profile_of(verdict).region_seconds;
  if (measured.empty()) return;
  if (!costs_) costs_ = std::make_shared<Json>(Json::array());
  for (const plan::Region& region : plan.regions) {
    auto found = measured.find(region.name);
    if (found == measured.end()) continue;
    Json sample =
        plan::to_json(plan::CostSample{.region = region.name,
                                       .way = plan::way_of(region),
                                       .parts = plan::estimate_without_calibration(context_, plan, region),
                                       .measured = found->second});
    sample["step"] = step;
    sample["predicted"] = plan::estimate(context_, plan, region).seconds();
    costs_->push_back(std::move(sample));
  }
}

}  // namespace stitch::agents
