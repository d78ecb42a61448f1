#include "learn/coder/decide.h"

#include <cmath>

namespace stitch::learn {

std::vector<Forecast> forecasts(std::span<const Scorer> members, RegionQuestion& question) {
  std::vector<Forecast> out(question.choices().size());
  std::vector<std::vector<double>> logs;
  for (size_t m = 0; m < members.size() && !out.empty(); ++m) {
    logs.push_back(members[m].score(question.features()));
    const double built_in = logs.back()[0];
    for (double& each : logs.back()) each = (built_in - each) / sharpness;
  }
  if (logs.empty()) return out;
  const auto count = static_cast<double>(logs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    double squares = 0;
    for (const auto& each : logs) out[i].mean += each[i] / count;
    for (const auto& each : logs) squares += (each[i] - out[i].mean) * (each[i] - out[i].mean);
    out[i].spread = logs.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  }
  return out;
}

std::string way_text(const plan::Region& region) {
  return format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                plan::name(region.offer.order));
}

size_t decide(const Committee& committee, RegionQuestion& question) {
  const std::vector<Forecast> known = forecasts(committee.members, question);
  auto is_known = [&](size_t choice) {
    return committee.known_ways.empty() ||
           committee.known_ways.contains(way_text(question.choices()[choice]));
  };
  size_t best = 0;
  double least = std::log(1 - least_gain);
  if (question.choices().empty() || !is_known(0)) return 0;
  for (size_t i = 1; i < known.size(); ++i) {
    const double bound = known[i].mean + committee.caution * known[i].spread;
    if (!(bound < least) || !is_known(i)) continue;
    least = bound;
    best = i;
  }
  return best;
}

}  // namespace stitch::learn
