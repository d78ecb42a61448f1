#include "plan/cost/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace stitch::plan {

namespace {

double off(double predicted, double measured) {
  if (!(predicted > 0) || !(measured > 0)) return 1e6;
  return std::abs(std::log(predicted / measured));
}

// Three digits: more than was measured, and a file that people can read.
double to_digits(double value) { return std::stod(format("{:.3g}", value)); }

// Steps of an eighth, which is finer than the measurements agree.
std::vector<double> factors() {
  std::vector<double> out;
  for (double each = 0.25; each < 40; each *= 1.125) out.push_back(each);
  out.push_back(1);
  return out;
}

std::vector<double> additions() {
  std::vector<double> out = {0};
  for (double each = 0.5e-6; each < 40e-6; each *= 1.5) out.push_back(each);
  return out;
}

double badness(std::span<const CostSample* const> samples, const Calibrated& calibrated) {
  double sum = 0;
  for (const CostSample* each : samples) sum += off(seconds_of(each->parts, &calibrated), each->measured);
  return sum / static_cast<double>(samples.size());
}

// A part at a time, until none can be moved to a better place. A term without influence stays at one.
Calibrated fit_way(std::span<const CostSample* const> samples) {
  Calibrated best{.samples = static_cast<int>(samples.size())};
  double least = badness(samples, best);
  auto try_all = [&](double Calibrated::*part, const std::vector<double>& values) {
    bool better = false;
    for (double value : values) {
      Calibrated other = best;
      other.*part = value;
      if (const double now = badness(samples, other); now < least - 1e-4)
        least = now, best = other, better = true;
    }
    return better;
  };
  for (int round = 0; round < 8; ++round) {
    bool better = try_all(&Calibrated::memory, factors());
    better |= try_all(&Calibrated::compute, factors());
    better |= try_all(&Calibrated::seconds, additions());
    if (!better) break;
  }
  best.memory = to_digits(best.memory);
  best.compute = to_digits(best.compute);
  best.seconds = to_digits(best.seconds);
  return best;
}

}  // namespace

std::string way_of(const Region& region) {
  return format("{} {} {}", region.technique->name(), name(region.offer.arithmetic),
                name(region.offer.order));
}

double predicted(const CostSample& sample, const Calibration* calibration) {
  return seconds_of(sample.parts, calibration ? calibration->find(sample.way) : nullptr);
}

CostError error_of(const std::vector<std::pair<double, double>>& predicted_and_measured) {
  CostError out{.samples = static_cast<int>(predicted_and_measured.size())};
  if (predicted_and_measured.empty()) return out;
  std::vector<double> ratios;
  int within = 0;
  for (const auto& [predicted, measured] : predicted_and_measured) {
    ratios.push_back(std::exp(std::min(off(predicted, measured), 700.0)));
    within += ratios.back() <= 2 ? 1 : 0;
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  out.median = *middle;
  out.within_double = static_cast<double>(within) / static_cast<double>(ratios.size());
  return out;
}

CostError error_of(std::span<const CostSample> samples, const Calibration* calibration) {
  std::vector<std::pair<double, double>> pairs;
  for (const CostSample& each : samples) pairs.emplace_back(predicted(each, calibration), each.measured);
  return error_of(pairs);
}

Calibration fit(std::span<const CostSample> samples, std::string gpu, std::string made) {
  std::map<std::string, std::vector<const CostSample*>> ways;
  for (const CostSample& each : samples)
    if (each.measured > 0)
      for (std::string way : {each.way, each.way.substr(0, each.way.find(' ')), std::string("all")})
        ways[way].push_back(&each);
  Calibration out{std::move(gpu), std::move(made), {}};
  for (const auto& [way, own] : ways)
    if (std::ssize(own) >= least_samples) out.techniques[way] = fit_way(own);
  return out;
}

CostError error_on_unseen_tasks(std::span<const CostSample> samples) {
  constexpr int parts = 5;
  std::set<std::string> names;
  for (const CostSample& each : samples) names.insert(each.task);
  std::map<std::string, int> part;
  for (const std::string& name : names) part.emplace(name, static_cast<int>(part.size()) % parts);
  std::vector<std::pair<double, double>> pairs;
  for (int held = 0; held < parts; ++held) {
    std::vector<CostSample> seen;
    for (const CostSample& each : samples)
      if (part[each.task] != held) seen.push_back(each);
    const Calibration calibration = fit(seen, {}, {});
    for (const CostSample& each : samples)
      if (part[each.task] == held) pairs.emplace_back(predicted(each, &calibration), each.measured);
  }
  return error_of(pairs);
}

Json to_json(const CostSample& sample) {
  return {{"region", sample.region},
          {"way", sample.way},
          {"memory", sample.parts.memory},
          {"compute", sample.parts.compute},
          {"rearranging", sample.parts.rearranging},
          {"launch", sample.parts.launch},
          {"measured", sample.measured}};
}

Result<CostSample> read_sample(const Json& json) {
  CostSample out;
  auto bad = [](const char* key) { return user_error("sample", format("'{}' is missing or wrong", key)); };
  if (!json.is_object()) return bad("region");
  for (auto [key, to] : {std::pair{"region", &out.region}, {"way", &out.way}}) {
    if (!json.contains(key) || !json[key].is_string()) return bad(key);
    *to = json[key].get<std::string>();
  }
  for (auto [key, to] : {std::pair{"memory", &out.parts.memory},
                         {"compute", &out.parts.compute},
                         {"rearranging", &out.parts.rearranging},
                         {"launch", &out.parts.launch},
                         {"measured", &out.measured}}) {
    if (!json.contains(key) || !json[key].is_number()) return bad(key);
    *to = json[key].get<double>();
    if (!std::isfinite(*to) || *to < 0) return bad(key);
  }
  return out;
}

}  // namespace stitch::plan
