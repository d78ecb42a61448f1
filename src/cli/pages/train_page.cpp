#include "cli/pages/train_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/pages/html.h"

namespace stitch {

namespace {

struct PlotPoint {
  double epoch, value;
};

// One line over the epochs, with the least and the most of it written beside.
std::string plot(std::string_view title, const std::vector<PlotPoint>& points) {
  constexpr double width = 640, height = 160, left = 64, below = 24;
  if (points.size() < 2) return {};
  double low = INFINITY, high = -INFINITY;
  for (const PlotPoint& point : points) low = std::min(low, point.value), high = std::max(high, point.value);
  if (high - low < 1e-12) high = low + 1;
  const double first = points.front().epoch, last = std::max(points.back().epoch, first + 1);
  std::string line;
  for (const PlotPoint& point : points)
    line += format("{:.1f},{:.1f} ", left + (width - left) * (point.epoch - first) / (last - first),
                   8 + (height - below - 8) * (high - point.value) / (high - low));
  return format(
      "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">"
      "<line class=\"axis\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>"
      "<text x=\"0\" y=\"14\">{:.4g}</text><text x=\"0\" y=\"{}\">{:.4g}</text>"
      "<text x=\"{}\" y=\"{}\">{:.0f}</text><text class=\"end\" x=\"{}\" y=\"{}\">{:.0f}</text>"
      "<polyline points=\"{}\"/></svg></figure>\n",
      escaped(title), width, height, escaped(title), left, height - below, width, height - below, high,
      height - below, low, left, height - 6, first, width, height - 6, last, line);
}

std::vector<PlotPoint> points_of(const std::vector<Json>& curve, const char* field) {
  std::vector<PlotPoint> out;
  for (const Json& point : curve)
    if (point.contains(field) && point[field].is_number())
      out.push_back({point.value("epoch", 0.0), point[field].get<double>()});
  return out;
}

constexpr std::string_view css =
    "figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;max-width:720px;height:auto}"
    "polyline{fill:none;stroke:var(--accent);stroke-width:1.5}.axis{stroke:var(--line)}"
    "text{font-size:11px;fill:var(--soft)}"
    ".end{text-anchor:end}";

}  // namespace

std::string train_page(const Json& document, const std::vector<Json>& curve) {
  const Json& trained = document.at("trained");
  std::string body =
      html_facts({{word(document, "gpu"), "GPU"},
                  {word(document, "reward"), "times by"},
                  {std::to_string(document.value("tasks", 0)), "tasks"},
                  {std::to_string(trained.value("epochs", 0)), "epochs"},
                  {format("{:.3f}", trained.value("validation", 1.0)), "validation: time over built-in"}});
  body += "<h2>Held-out regions</h2>\n";
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& each : document.at("held_out").at("time_over_built_in"))
    rows.push_back({{word(each, "who"), "text"},
                    {format("{:.3f}", each.value("geomean", 1.0)), "n"},
                    {format("{:.3f} to {:.3f}", each.value("low", 1.0), each.value("high", 1.0)), "n"}});
  body += html_table({"who chooses", "time over built-in", "95 %"}, rows);
  body += "<h2>Curves</h2>\n";
  body += plot("loss", points_of(curve, "loss"));
  body += plot("validation: geometric mean of the time over the built-in Planner's",
               points_of(curve, "validation"));
  return html_page("stitchcuda train", body, css);
}

}  // namespace stitch
