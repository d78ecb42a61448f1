#include "reference/timing.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"

namespace stitch::verifier {

namespace {

constexpr size_t fifths = 5;

double quantile(std::vector<int64_t> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  double at = share * static_cast<double>(values.size() - 1);
  size_t below = static_cast<size_t>(at), above = std::min(below + 1, values.size() - 1);
  double rest = at - static_cast<double>(below);
  return (static_cast<double>(values[below]) * (1 - rest) + static_cast<double>(values[above]) * rest) * 1e-9;
}

}  // namespace

double Samples::median() const { return quantile(wall_ns, 0.5); }
double Samples::event_median() const { return quantile(event_ns, 0.5); }

double Samples::spread() const {
  constexpr size_t most_rounds = 25;
  return distance_of_fifths(std::max<size_t>(1, wall_ns.size() / most_rounds));
}

double Samples::drift() const {
  return distance_of_fifths(std::max<size_t>(1, (wall_ns.size() + fifths - 1) / fifths));
}

// `round` calls for the first fifth, as many for the second, and so on, and again from the first.
double Samples::distance_of_fifths(size_t round) const {
  double middle = median();
  if (middle <= 0 || wall_ns.size() < fifths) return call_spread();
  std::vector<std::vector<int64_t>> dealt(fifths);
  for (size_t i = 0; i < wall_ns.size(); ++i) dealt[i / round % fifths].push_back(wall_ns[i]);
  std::erase_if(dealt, [](const auto& hand) { return hand.empty(); });
  std::vector<double> medians;
  for (std::vector<int64_t>& hand : dealt) medians.push_back(quantile(std::move(hand), 0.5));
  auto [least, most] = std::ranges::minmax(medians);
  return (most - least) / 2 / middle;
}

double Samples::call_spread() const {
  double middle = median();
  return middle > 0 ? (quantile(wall_ns, 0.75) - quantile(wall_ns, 0.25)) / 2 / middle : 0;
}

std::string without_graph(std::string_view kind) {
  constexpr std::string_view graph = "-graph";
  return kind.ends_with(graph) ? std::string(kind.substr(0, kind.size() - graph.size())) : "";
}

Json to_json(const Samples& samples, bool raw) {
  Json json = {{"side", samples.side}};
  if (!samples.unavailable.empty()) {
    json["unavailable"] = samples.unavailable;
    return json;
  }
  json.update(Json{{"seconds", samples.median()},
                   {"event_seconds", samples.event_median()},
                   {"spread", samples.spread()},
                   {"drift", samples.drift()},
                   {"call_spread", samples.call_spread()},
                   {"calls", samples.wall_ns.size()}});
  if (!samples.measured_at.empty()) json["measured_at"] = samples.measured_at;
  if (raw) json.update(Json{{"wall_ns", samples.wall_ns}, {"event_ns", samples.event_ns}});
  return json;
}

std::string timing_table(const Json& timing, const Terminal& terminal) {
  Table rows({{.header = "side"},
              {.header = "wall", .align = Column::Align::right},
              {.header = "spread", .align = Column::Align::right, .optional = 2},
              {.header = "events", .align = Column::Align::right, .optional = 1},
              {.header = "speedup", .align = Column::Align::right},
              {.header = "", .least = 10, .optional = 3}});
  double own = timing.at("program").value("seconds", 0.0);
  auto add = [&](const Json& side, bool baseline) {
    std::string label = side.at("side").get<std::string>();
    if (side.contains("unavailable")) {
      rows.add_row({label, "–", "", "", "", {side["unavailable"].get<std::string>(), Style::dim}});
      return;
    }
    double seconds = side.at("seconds").get<double>();
    std::string speedup = baseline && own > 0 ? format("{:.2f}x", seconds / own) : "";
    std::string from =
        side.contains("measured_at") ? "measured " + side["measured_at"].get<std::string>() : "";
    rows.add_row({label,
                  seconds_text(seconds),
                  format("{:.1f} %", 100 * side.value("spread", 0.0)),
                  seconds_text(side.value("event_seconds", 0.0)),
                  {speedup, speedup.empty() || seconds >= own ? Style::good : Style::bad},
                  {from, Style::dim}});
  };
  add(timing.at("program"), false);
  for (const Json& side : timing.at("baselines")) add(side, true);
  std::string out = rows.render(terminal);
  if (timing.contains("floor_seconds")) {
    double floor = timing["floor_seconds"].get<double>();
    out += format("floor {}: {:.0f} % of it reached\n", seconds_text(floor), own > 0 ? 100 * floor / own : 0);
  }
  return out;
}

}  // namespace stitch::verifier
