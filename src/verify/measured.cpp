#include "verify/measured.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stitch::verifier {

std::optional<Timing> timing_of(const Verdict& verdict) {
  if (!verdict.timing) return std::nullopt;
  const Json& json = *verdict.timing;
  Timing out{.seconds = json.at("program").value("seconds", 0.0),
             .baselines = {},
             .speedup = {},
             .best_baseline = word(json, "best_baseline")};
  for (const Json& side : json.value("baselines", Json::array()))
    if (const double seconds = side.value("seconds", 0.0); seconds > 0)
      out.baselines.emplace_back(word(side, "side"), seconds);
  if (json.contains("speedup")) out.speedup = json["speedup"].get<double>();
  return out;
}

std::optional<double> times_over_budget(const Verdict& verdict) {
  const GateReport* report = verdict.failure();
  if (!report || report->id != GateId::correctness || report->fault != Fault::wrong || !report->evidence)
    return std::nullopt;
  std::optional<double> out;
  for (const Json& trial : report->evidence->value("trials", Json::array()))
    for (const Json& output : trial.value("outputs", Json::array())) {
      if (output.value("passed", true)) continue;
      const Json &error = output["relative_error"], &budget = output["budget"];
      if (!error.is_number() || !budget.is_number() || budget.get<double>() <= 0) return std::nullopt;
      out = std::max(out.value_or(0), error.get<double>() / budget.get<double>());
    }
  return out;
}

Profile profile_of(const Verdict& verdict) {
  Profile out;
  const GateReport* report = verdict.gate("profile");
  if (!report || !report->evidence || !report->evidence->is_object()) return out;
  const Json& json = *report->evidence;
  if (json.contains("diagnosis"))
    if (auto diagnosis = profile::diagnosis_from_json(json["diagnosis"]))
      out.diagnosis = *std::move(diagnosis);
  for (const Json& each : json.value("region_times", Json::array()))
    if (const double nanoseconds = each.value("nanoseconds", 0.0); nanoseconds > 0)
      out.region_seconds[word(each, "name")] = nanoseconds * 1e-9;
  for (const Json& kernel : json.value("kernels", Json::array())) out.launches += kernel.value("count", 0.0);
  if (json.contains("memory")) {
    out.program_bytes = json["memory"].value("program_bytes", 0.0);
    out.pytorch_bytes = json["memory"].value("pytorch_bytes", 0.0);
  }
  return out;
}

}  // namespace stitch::verifier
