#include "agents/loop/measured_gain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "gpu/calibration.h"
#include "plan/cost/cost_fit.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

// The cost model beside what the profile gate measured of one program.
class Measured {
 public:
  Measured(const plan::Context& context, const Program& program)
      : context_(context), program_(program), seconds_(verifier::profile_of(program.verdict).region_seconds) {
    for (const plan::Region& region : program.plan.regions)
      if (auto found = seconds_.find(region.name); found != seconds_.end()) {
        Sums& way = seen_[plan::way_of(region)];
        way.measured += found->second;
        way.predicted += model(program.plan, region).seconds();
      }
  }

  bool empty() const { return seconds_.empty(); }

  // Of the program itself.
  plan::RegionEstimate of(const plan::Region& region) const {
    auto found = seconds_.find(region.name);
    if (found == seconds_.end()) return model(program_.plan, region);
    plan::RegionEstimate out;
    // What a kernel takes to start may overlap with a neighbour's work; the rest of it is work.
    out.launch = std::min(model(program_.plan, region).launch, found->second);
    out.memory = found->second - out.launch;
    return out;
  }

  // Of a region of another plan for the same graph.
  plan::RegionEstimate of(const plan::Plan& plan, const plan::Region& region) const {
    for (const plan::Region& known : program_.plan.regions)
      if (plan::is_same_work(program_.plan, known, plan, region)) return of(known);
    plan::RegionEstimate out = model(plan, region);
    const double factor = correction(region);
    for (double* part : {&out.memory, &out.compute, &out.rearranging, &out.launch}) *part *= factor;
    return out;
  }

 private:
  struct Sums {
    double measured = 0, predicted = 0;
  };

  plan::RegionEstimate model(const plan::Plan& plan, const plan::Region& region) const {
    const Calibration* calibration = context_.gpu.calibration.get();
    if (!calibration) calibration = measured_calibration(context_.gpu.name);
    return plan::calibrated(plan::estimate_without_calibration(context_, plan, region),
                            calibration ? calibration->find(plan::way_of(region)) : nullptr);
  }

  double correction(const plan::Region& region) const {
    constexpr double most = 4;  // more is another regime, and says little of other sizes
    auto found = seen_.find(plan::way_of(region));
    if (found == seen_.end() || found->second.predicted <= 0) return 1;
    return std::clamp(found->second.measured / found->second.predicted, 1 / most, most);
  }

  const plan::Context& context_;
  const Program& program_;
  const std::map<std::string, double> seconds_;  // by region
  std::map<std::string, Sums> seen_;             // by way
};

}  // namespace

RegionPredictor region_predictor(const plan::Context& context, const Program& best) {
  auto measured = std::make_shared<const Measured>(context, best);
  if (measured->empty()) return {};
  return [measured](const plan::Plan& plan, const plan::Region& region) {
    return measured->of(plan, region).seconds();
  };
}

std::optional<double> predicted_gain(const plan::Context& context, const Program& best,
                                     const plan::Plan& next) {
  const Measured measured(context, best);
  if (measured.empty() || best.seconds <= 0) return std::nullopt;
  const double before = plan::estimate(context, best.plan,
                                       [&](const plan::Region&region) { return measured.of(region); }),
               after = plan::estimate(context, next,
                                      [&](const plan::Region&region) { return measured.of(next, region); });
  // The clock sees more than kernels: gaps between them, and less where branches overlap.
  return (before - after) * best.seconds / before;
}

namespace {

constexpr double worth_telling = 0.01;  // seconds
constexpr size_t most_told = 6;

double rounded(double seconds) { return std::round(seconds * 1e3) / 1e3; }

}  // namespace

Json time_spent(const TimeAccount::Entries& entries, double total) {
  Json out = {{"phases", Json::object()}, {"waiting", Json::object()}, {"details", Json::object()}};
  double other = total;
  for (const auto& [key, entry] : entries) {
    const auto& [kind, name] = key;
    if (kind == TimeAccount::Kind::phase) other -= entry.seconds;
    if (entry.seconds < worth_telling) continue;
    if (kind == TimeAccount::Kind::detail)
      out["details"][name] = {{"seconds", rounded(entry.seconds)}, {"times", entry.times}};
    else
      out[kind == TimeAccount::Kind::phase ? "phases" : "waiting"][name] = rounded(entry.seconds);
  }
  if (other > worth_telling) out["phases"]["other"] = rounded(other);
  return out;
}

std::string time_text(const Json& spent) {
  std::vector<std::pair<double, std::string>> phases;
  const Json all = spent.value("phases", Json::object()), waited = spent.value("waiting", Json::object());
  for (const auto& [name, seconds] : all.items()) phases.emplace_back(seconds.get<double>(), name);
  std::ranges::stable_sort(phases, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (size_t i = 0; i < std::min(phases.size(), most_told); ++i)
    out += format("{}{} {}", i ? ", " : "", phases[i].second, seconds_text(phases[i].first));
  double waiting = 0;
  for (const char* name : {"to have the GPU alone", "to use the GPU", "for a share of gpu.memory"})
    waiting += waited.value(name, 0.0);
  if (!out.empty() && waiting >= 1)
    out += format("; {} waiting for others on the GPU", seconds_text(waiting));
  return out;
}

}  // namespace stitch::agents
