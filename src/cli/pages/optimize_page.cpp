#include "cli/pages/optimize_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "base/terminal/wording.h"
#include "cli/pages/html.h"
#include "cli/commands/optimize/optimize_summary.h"
#include "profile/rules.h"
#include "program/package.h"

namespace stitch {

// Made from page/optimize.css by cmake/embed.cmake.
extern const std::string_view embedded_optimize_css;

const Json* evidence_of(const Json& verdict, std::string_view gate) {
  if (auto gates = verdict.find("gates"); gates != verdict.end())
    for (const Json& one : *gates)
      if (word(one, "gate") == gate && one.contains("evidence")) return &one["evidence"];
  return nullptr;
}

namespace {

// What a step changed of the program's settings, behind why it was taken.
std::string why_kept(const Json& step) {
  std::vector<std::string> settings;
  const Json changed = step.value("settings", Json::object());
  for (const auto& [name, value] : changed.items()) settings.push_back(format("{} = {}", name, value.dump()));
  return word(step, "why") + (settings.empty() ? "" : ": " + join(settings, ", "));
}

}  // namespace

std::string ledger_part(const Json& ledger) {
  const bool measured = word(ledger, "times") == "measured";
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& step : ledger.value("steps", Json::array())) {
    double before = step.value("before_seconds", 0.0), after = step.value("after_seconds", 0.0);
    // An estimated gain is its own prediction.
    double predicted = measured ? step.value("predicted_gain_seconds", 0.0) : 0;
    bool kept = step.value("kept", false);
    rows.push_back(
        {{word(step, "step"), "text"},
         {after > 0 ? seconds_text(after) : "–", "n"},
         {before > 0 && after > 0 && before != after ? format("{:.2f}x", before / after) : "", "n"},
         {before > 0 && after > 0 ? gain_text(before - after, before) : "", "n"},
         {gain_text(predicted, before), "n"},
         {kept                    ? "kept"
          : step.contains("fate") ? word(step, "fate")
                                  : "rolled back",
          kept ? "good" : "warning"},
         {kept ? why_kept(step) : word(step, "reason"), "long"}});
  }
  return "<h2>Ledger</h2>" + html_table({"step", "per call, " + word(ledger, "times"), "speedup",
                                         "time saved", "predicted", "result", "why"},
                                        rows);
}

namespace {

std::string tuning_part(const Json& run) {
  const Json tuning = run.value("tuning", Json::object());
  if (tuning.empty()) return "";
  std::string out = "<h2>Tuning</h2><p class=\"note\">";
  if (std::string why = word(tuning, "skipped"); !why.empty())
    return out + format("None: {}.</p>", escaped(why));
  out += format("{} tried in the whole program, {} kept", counted(tuning.value("tried", 0), "value"),
                tuning.value("kept", 0));
  if (int known = tuning.value("known", 0))
    out += format(", {} known from earlier runs", counted(known, "decision"));
  if (std::string why = word(tuning, "ended"); !why.empty()) out += format("; ended early: {}", escaped(why));
  out += ".</p>";
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& one : tuning.value("dropped", Json::array()))
    rows.push_back({{word(one, "name"), "text"},
                    {one.value("value", Json()).dump(), "n"},
                    {word(one, "reason"), "long"}});
  return rows.empty() ? out : out + html_table({"setting", "value dropped", "why"}, rows);
}

// A box per kernel, as long as it ran. Neighbours differ in shade, to be told apart.
std::string lane(const Json& profile) {
  const Json activities = profile.value("activities", Json::array());
  const double span = profile["span_ns"].get<double>();
  const std::string label =
      format("{}, {}", counted(std::ssize(activities), "launch", "launches"), seconds_text(span * 1e-9));
  std::string out = format(
      "<div class=\"lane\"><p>{0}</p><svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{0}\">\n",
      escaped(label));
  const double scale = 1000 / std::max(span, 1.0);
  for (size_t i = 0; i < activities.size(); ++i) {
    const Json& one = activities[i];
    const double begin = one[1].get<double>(), length = one[2].get<double>();
    out += format(
        "<rect x=\"{:.2f}\" y=\"1\" width=\"{:.2f}\" height=\"8\" fill=\"var(--accent)\" "
        "fill-opacity=\"{}\"><title>{} · {}</title></rect>\n",
        begin * scale, std::max(length * scale, 0.2), i % 2 ? "0.6" : "1", escaped(one[0].get<std::string>()),
        seconds_text(length * 1e-9));
  }
  return out + "</svg></div>\n";
}

}  // namespace

std::string timeline_part(const Json& run) {
  const Json* shipped = evidence_of(run.at("verdict"), "profile");
  // The emulated GPU's launches have no times to draw.
  if (!shipped || shipped->value("span_ns", int64_t{0}) <= 0) return "";
  std::string out = "<h2>One call on the GPU</h2>\n" + lane(*shipped);
  if (shipped->contains("diagnosis"))
    if (auto diagnosis = profile::diagnosis_from_json((*shipped)["diagnosis"]))
      out += format("<p class=\"note\">{}</p>\n", escaped(profile::text(*diagnosis)));
  return out;
}

namespace {

// Library kernels carry no region name, and are listed separately if their region is unknown.
std::string library_part(const Json& run) {
  const Json* profile = evidence_of(run.at("verdict"), "profile");
  if (!profile || profile->contains("region_times")) return "";
  std::vector<std::vector<HtmlCell>> rows;
  const Json regions = run.value("regions", Json::array());
  for (const Json& kernel : profile->value("kernels", Json::array())) {
    const std::string name = word(kernel, "name");
    if (std::ranges::any_of(regions,
                            [&](const Json& region) { return name.find(word(region, "name")) != name.npos; }))
      continue;
    const double seconds = kernel.value("nanoseconds", 0.0) * 1e-9;
    rows.push_back({{name, "text"},
                    {std::to_string(kernel.value("count", 0)), "n"},
                    {seconds > 0 ? seconds_text(seconds) : "", "n"}});
  }
  return rows.empty() ? ""
                      : "<h2>Library kernels</h2>" + html_table({"kernel", "launches", "measured"}, rows);
}

std::string part_text(double part, double whole) {
  return part > 0 && whole > 0 ? format("{:.0f} %", 100 * part / whole) : "";
}

std::string regions_part(const Json& run, const ReportSources& sources) {
  const std::map<std::string, double> measured = measured_regions(run);
  const double whole = run.value("predicted_seconds", 0.0);
  double all = 0, all_expected = 0;
  for (const auto& [name, seconds] : measured) all += seconds;
  const Json regions = run.value("regions", Json::array());
  for (const Json& region : regions) all_expected += region.value("estimated_seconds", 0.0);
  const bool errors =
      std::ranges::any_of(regions, [](const Json& region) { return region.contains("error_share"); });
  const bool timed = all > 0;
  std::vector<std::string> header = {"region", "technique", "estimate"};
  if (timed) header.emplace_back("measured");
  header.emplace_back("% of time");
  if (errors) header.emplace_back("% of error");
  if (timed) header.emplace_back("% of estimate");
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& region : regions) {
    const std::string name = word(region, "name");
    auto found = measured.find(name);
    const double expected = region.value("estimated_seconds", 0.0),
                 seconds = found == measured.end() ? 0 : found->second;
    std::vector<HtmlCell> row = {{name, "text", sources.file.contains(name) ? "#code-" + name : ""},
                                 {word(region, "technique"), "text"},
                                 {expected > 0 ? seconds_text(expected) : "", "n"}};
    if (timed) row.push_back({seconds > 0 ? seconds_text(seconds) : "", "n"});
    row.push_back(
        {timed ? part_text(seconds, all) : part_text(expected, whole > 0 ? whole : all_expected), "n"});
    if (errors) row.push_back({part_text(region.value("error_share", 0.0), 1), "n"});
    if (timed) row.push_back({seconds > 0 ? part_text(expected, seconds) : "", "n"});
    rows.push_back(std::move(row));
  }
  // The whole call, so that the table adds up to what is said above it.
  if (whole > 0) {
    const bool concurrent =
        std::ranges::any_of(regions, [](const Json& region) { return region.contains("section"); });
    const double rest = whole - all_expected;
    rows.push_back(
        {{concurrent ? "launch of the call, less what concurrent branches save" : "launch of the call",
          "text"},
         {"", "text"},
         {seconds_text(rest), "n"}});
    rows.push_back({{"the whole call", "text"}, {"", "text"}, {seconds_text(whole), "n"}});
  }
  return "<h2>Regions</h2><p class=\"note\">The estimate is the cost model's: memory traffic or arithmetic, "
         "whichever takes longer, plus layout changes and launches. A region's name leads to its "
         "source.</p>" +
         html_table(header, rows);
}

// The kernels, each with the regions that it computes and their lines of the model. Closed: a network has
// dozens.
std::string code_part(const Json& run, const ReportSources& sources) {
  std::vector<std::string> files;                           // in the order of the program
  std::map<std::string, std::vector<const Json*>> regions;  // by file
  const Json all = run.value("regions", Json::array());
  for (const Json& region : all) {
    auto file = sources.file.find(word(region, "name"));
    if (file == sources.file.end() || !sources.text.contains(file->second)) continue;
    if (regions[file->second].empty()) files.push_back(file->second);
    regions[file->second].push_back(&region);
  }
  std::string out;
  for (const std::string& file : files) {
    const std::string& text = sources.text.at(file);
    const std::vector<const Json*>& own = regions[file];
    out += format("<details class=\"kernel\"><summary><code>{}</code>, {}{}</summary>\n", escaped(file),
                  counted(std::ranges::count(text, '\n'), "line"),
                  own.size() > 1 ? ", for " + counted(std::ssize(own), "region") : "");
    for (const Json* region : own) {
      out += format("<div id=\"code-{0}\"><h3>{0}</h3><p>{1}</p><ul>", escaped(word(*region, "name")),
                    escaped(word(*region, "technique")));
      for (const Json& line : region->value("lines", Json::array()))
        if (line.is_string())
          out += format("<li><code>{}</code></li>", escaped(printable(line.get<std::string>())));
      out += "</ul></div>\n";
    }
    out += format("<pre>{}</pre></details>\n", escaped(text));
  }
  return out.empty() ? "" : "<h2>Kernels</h2>\n" + out;
}

std::string gates_part(const Json& verdict) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const Json& gate : verdict.value("gates", Json::array())) {
    std::string outcome = word(gate, "outcome");
    rows.push_back({{word(gate, "gate")},
                    {outcome, outcome == "passed"   ? "good"
                              : outcome == "failed" ? "bad"
                                                    : ""},
                    {seconds_text(gate.value("seconds", 0.0)), "n"},
                    {word(gate, "summary"), "long"}});
  }
  std::string out = "<h2>Verification</h2>" + html_table({"gate", "result", "time taken", "evidence"}, rows);
  for (const Json& note : verdict.value("notes", Json::array()))
    if (note.is_string()) out += format("<p class=\"note\">{}</p>", escaped(note.get<std::string>()));
  return out;
}

// Where the optimisation's seconds went.
std::string time_part(const Json& run) {
  const Json time = run.value("time", Json::object());
  if (!time.contains("phases") || time["phases"].empty()) return "";
  auto table = [&](const char* part, const char* title) {
    std::vector<std::pair<double, std::string>> order;
    const Json entries = time.value(part, Json::object());
    for (const auto& [name, entry] : entries.items())
      order.emplace_back(entry.is_object() ? entry.value("seconds", 0.0) : entry.get<double>(), name);
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::vector<HtmlCell>> rows;
    for (const auto& [seconds, name] : order)
      rows.push_back({{name},
                      {seconds_text(seconds), "n"},
                      {entries[name].is_object() ? format("{}", entries[name].value("times", 0)) : "", "n"}});
    return rows.empty() ? std::string() : html_table({title, "seconds", "times"}, rows);
  };
  return "<h2>Optimisation time</h2>\n" + table("phases", "phase") +
         "<details><summary>Waiting and details</summary>" +
         table("waiting", "waiting, within or between the phases") + table("details", "parts of the phases") +
         "</details>\n";
}

std::string baselines_part(const Json& run) {
  const Standing now = standing_of(run);
  std::vector<std::vector<HtmlCell>> rows;
  auto add = [&](const std::string& name, double seconds, const std::string& note) {
    rows.push_back({{name},
                    {seconds > 0 ? seconds_text(seconds) : "–", "n"},
                    {seconds > 0 && now.own > 0 ? format("{:.2f}x", seconds / now.own) : "", "n"},
                    {note, "long"}});
  };
  const Json timing = run.at("verdict").value("timing", Json::object());
  for (const Json& side : timing.value("baselines", Json::array()))
    add(word(side, "side"), side.value("seconds", 0.0), word(side, "unavailable"));
  if (rows.empty())
    for (const auto& [name, seconds] : now.baselines)
      add(name, seconds,
          name == "eager" ? "estimated: a kernel per operator, each dispatched by the host"
                          : "estimated: the same kernels replayed as one CUDA graph");
  return rows.empty()
             ? ""
             : "<h2>Against PyTorch</h2>" + html_table({"baseline", "per call", "speedup", "note"}, rows);
}

// PyTorch and the program, each as long as it takes.
std::string before_and_after(const Json& run) {
  const Standing now = standing_of(run);
  struct Bar {
    std::string name;
    double seconds;
    const char* look;
  };
  std::vector<Bar> bars;
  for (const auto& [name, seconds] : now.baselines)
    bars.push_back({"PyTorch, " + name, seconds, name == now.best_name ? "best" : "other"});
  if (now.own > 0) bars.push_back({"this program", now.own, "own"});
  if (bars.size() < 2) return "";
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.seconds);
  std::string out = "<div class=\"times\">\n";
  for (const Bar& bar : bars)
    out += format("<div><span>{}{}</span><i class=\"{}\" style=\"--part: {:.1f}%\"></i><b>{}</b></div>\n",
                  escaped(bar.name), now.measured ? "" : ", estimated", bar.look, 100 * bar.seconds / longest,
                  seconds_text(bar.seconds));
  return out + "</div>\n";
}

std::string lead(const Json& run) {
  const Standing now = standing_of(run);
  std::string out =
      format("<p class=\"lead{}\">{}</p>\n", now.slower() ? " warning" : "", escaped(headline(run)));
  if (now.slower()) {
    out += "<ul class=\"reasons\">";
    for (const std::string& line : why_slower(run)) out += format("<li>{}</li>", escaped(printable(line)));
    out += "</ul>\n";
  }
  return out + before_and_after(run);
}

std::string legend(const Json& run) {
  const bool measured = standing_of(run).measured;
  std::vector<std::pair<const char*, std::string>> words = {
      {"per call", measured ? "median wall time of one forward pass on the GPU, L2 flushed before each"
                            : "the cost model's estimate: the emulated GPU has no meaningful times"},
      {"best PyTorch", "the fastest of eager mode, torch.compile, and both replayed in a CUDA graph"},
      {"theoretical limit",
       "a time that no program for this graph can beat, from memory bandwidth and peak arithmetic"},
      {"region", "part of the model's graph that is computed by one kernel or library call"},
      {"technique", "how a region is computed; stitchcuda plan lists the alternatives"},
      {"step", "one change to the plan: kept only if the whole program got faster and passed its checks"},
      {"numerics class",
       "how much rounding error is allowed, as a multiple of PyTorch's own against float64"},
      {"gate", "one check of the Verifier, with its evidence"}};
  std::string out = "<h2>Legend</h2><dl class=\"legend\">\n";
  for (const auto& [name, meaning] : words)
    out += format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, escaped(meaning));
  return out + "</dl>\n";
}

}  // namespace

ReportSources package_sources(const Package& package) {
  constexpr size_t most = 400'000;  // a page has to be opened
  ReportSources out;
  for (const fs::path& source : package.sources) {
    auto text = read_file(source);
    if (text && text->size() <= most)
      out.text[source.lexically_relative(package.folder).generic_string()] = *std::move(text);
  }
  for (const ManifestRegion& region : package.manifest.regions) out.file[region.name] = region.file;
  return out;
}

std::string optimize_page(const Json& run, const ReportSources& sources) {
  const Json& verdict = run.at("verdict");
  bool measured = word(run.at("ledger"), "times") == "measured";
  double own = run.value("seconds_a_call", 0.0), floor = run.value("floor_seconds", 0.0);
  const std::string gates = word(run, "gates");
  std::vector<std::pair<std::string, std::string>> facts = {
      {word(verdict, "verdict"), run.value("stopped", false) ? "interrupted: quick checks only" : "verdict"},
      {seconds_text(own), measured ? "per call, measured" : "per call, estimated"},
      {seconds_text(floor), "theoretical limit on " + word(run, "gpu")}};
  if (own > 0 && floor > 0)
    facts.emplace_back(format("{:.0f} %", 100 * floor / own), "of the theoretical limit");
  if (const Json timing = verdict.value("timing", Json::object()); timing.contains("speedup"))
    facts.emplace_back(format("{:.2f}x", timing["speedup"].get<double>()),
                       "over " + word(timing, "best_baseline"));
  facts.emplace_back(word(verdict, "class"), "numerics class");
  facts.emplace_back(seconds_text(run.value("seconds", 0.0)), "optimisation time");
  return html_page(fs::path(word(verdict, "task")).stem().string(),
                   lead(run) + html_facts(facts) +
                       (gates.empty() ? "" : format("<p class=\"note\">Gates: {}.</p>\n", escaped(gates))) +
                       ledger_part(run.at("ledger")) + tuning_part(run) + baselines_part(run) +
                       timeline_part(run) + regions_part(run, sources) + library_part(run) +
                       code_part(run, sources) + gates_part(verdict) + time_part(run) + legend(run),
                   embedded_optimize_css);
}

}  // namespace stitch
