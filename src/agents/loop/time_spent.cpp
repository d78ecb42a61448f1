#include "agents/loop/time_spent.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"

namespace stitch::agents {

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
