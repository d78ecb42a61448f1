#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/commands/profile.h"
#include "plan/cost/estimate.h"

namespace stitch {

namespace {

using profile::Summary;

// Less than a twentieth of a region's time is nothing to work for.
bool is_worth(double gain, double seconds) { return gain > 0.05 * seconds; }

// What could be done, each suggestion once with the regions it is for; the largest gain first.
Json suggestions_for(const Json& regions) {
  constexpr size_t most_named = 3;
  struct Group {
    double gain = 0;
    std::vector<std::string> names;
  };
  std::map<std::string, Group> groups;
  for (const Json& region : regions) {
    if (!region.contains("gain_seconds")) continue;
    Group& group = groups[word(region["diagnosis"], "suggestion")];
    group.gain += region["gain_seconds"].get<double>();
    group.names.push_back(word(region, "name"));
  }
  std::vector<Json> out;
  for (auto& [text, group] : groups) {
    const size_t count = group.names.size();
    if (count > most_named + 1) group.names.resize(most_named);
    std::string names = join(group.names, ", ");
    if (count > group.names.size()) names += format(" and {} more", count - group.names.size());
    out.push_back({{"regions", std::move(names)}, {"text", text}, {"gain_seconds", group.gain}});
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const Json& each) { return each.at("gain_seconds").get<double>(); });
  return out;
}

// One side, with its sums and what the rules say of it.
Json side_json(const profile::Timeline& timeline, const std::string& title,
               const profile::Diagnoses& diagnoses) {
  return {{"side", name(timeline.side)},
          {"title", title},
          {"device", timeline.device},
          {"times", name(timeline.times)},
          {"note", timeline.note},
          {"summary", to_json(summarise(timeline))},
          {"diagnosis", to_json(diagnoses.whole)},
          {"bottleneck", text(diagnoses.whole)},
          {"timeline", to_json(timeline)}};
}

Json pytorch_json(const ProfileRun& run) {
  const profile::Timeline& timeline = *run.pytorch;
  auto subjects = profile::subjects_of(timeline, {}, {}, nullptr, run.gpu);
  Json out = side_json(timeline, run.baseline, diagnose(timeline, subjects, run.gpu));
  if (run.pytorch_estimate.known()) {
    out["estimated_seconds"] = to_json(run.pytorch_estimate);
    out["seconds_a_call"] = out["estimated_seconds"][run.baseline];
  }
  return out;
}

Json region_json(const ProfileRun& run, const ManifestRegion& region, const profile::Subject& subject,
                 const profile::Diagnosis& diagnosis) {
  Json out = {{"name", region.name},
              {"file", region.file},
              {"technique", region.technique},
              {"lines", run.graph ? profile::lines_of(*run.graph, region) : std::vector<std::string>()},
              {"launches", subject.launches},
              {"seconds", subject.seconds},
              {"bytes", subject.work.bytes},
              {"flops", subject.work.flops},
              {"diagnosis", to_json(diagnosis)}};
  if (is_worth(diagnosis.expected_gain_seconds, subject.seconds))
    out["gain_seconds"] = diagnosis.expected_gain_seconds;
  return out;
}

Json program_json(const ProfileRun& run) {
  const profile::Collected& collected = *run.collected;
  const profile::Timeline& timeline = collected.timeline;
  const auto subjects =
      profile::subjects_of(timeline, collected.manifest, collected.metrics, run.graph, run.gpu);
  const profile::Diagnoses diagnoses = diagnose(timeline, subjects, run.gpu);
  Json out = side_json(timeline, collected.manifest.name, diagnoses);
  if (run.program_seconds > 0) out["seconds_a_call"] = run.program_seconds;
  out["owners"] = Json::array();
  for (const profile::Activity& activity : timeline.activities) out["owners"].push_back(activity.region);
  out["regions"] = Json::array();
  // By number, as owners have them; those that launched nothing stay, without a time.
  for (const ManifestRegion& region : collected.manifest.regions) {
    Json entry;
    for (const profile::Subject& subject : subjects)
      if (subject.name == region.name)
        for (const profile::Diagnosis& diagnosis : diagnoses.regions)
          if (diagnosis.subject == region.name) entry = region_json(run, region, subject, diagnosis);
    if (entry.is_null())
      entry = {{"name", region.name}, {"file", region.file}, {"technique", region.technique}};
    out["regions"].push_back(std::move(entry));
  }
  out["suggestions"] = suggestions_for(out["regions"]);
  out["others"] = Json::array();  // kernels of no region
  for (const profile::Diagnosis& diagnosis : diagnoses.regions) {
    bool known = false;
    for (const ManifestRegion& region : collected.manifest.regions) known |= region.name == diagnosis.subject;
    if (!known) out["others"].push_back(to_json(diagnosis));
  }
  out["metrics"] = Json::array();
  for (const auto& [kernel, metrics] : collected.metrics) out["metrics"].push_back(to_json(metrics));
  if (!collected.missing.empty()) out["counters_missing"] = collected.missing;
  return out;
}

std::string times_word(const Json& side) {
  const std::string times = word(side, "times");
  return times == "measured" ? "" : times == "estimated" ? ", estimated" : ", no times";
}

void print_side(std::string& out, const Json& side, const Terminal& terminal) {
  const Json& summary = side.at("summary");
  const double span = summary.at("span_ns").get<double>() * 1e-9,
               busy = summary.at("busy_ns").get<double>() * 1e-9;
  out += styled(format("{} ({})", word(side, "side"), printable(word(side, "title"))), Style::bold, terminal);
  out += format(": {}, {}", counted(summary.at("kernels").get<int>(), "kernel"),
                counted(summary.at("copies").get<int>() + summary.at("fills").get<int>(), "copy or fill",
                        "copies and fills"));
  if (const double call = side.value("seconds_a_call", 0.0); call > 0)
    out += format(", {} a call", seconds_text(call));
  else if (span > 0)
    out += format(", {} from the first to the last, {} busy, idle {:.0f} %", seconds_text(span),
                  seconds_text(busy), 100 * summary.at("idle_share").get<double>());
  if (const int calls = summary.at("host_calls").get<int>())
    out += format("; {} CUDA calls, {}", calls, seconds_text(summary.at("host_ns").get<double>() * 1e-9));
  out += times_word(side);
  if (side.contains("estimated_seconds"))
    for (const auto& [baseline, seconds] : side["estimated_seconds"].items())
      if (baseline != word(side, "title"))
        out += format("; {} {}", baseline, seconds_text(seconds.get<double>()));
  out += "\n";
  if (std::string note = word(side, "note"); !note.empty()) out += "  " + printable(note) + "\n";
}

void print_kernels(std::string& out, const Json& summary, const Terminal& terminal) {
  Table table({{.header = "kernel", .least = 24},
               {.header = "launches", .align = Column::Align::right},
               {.header = "time", .align = Column::Align::right},
               {.header = "share", .align = Column::Align::right}});
  const double total =
      std::max(1.0, summary.at("kernel_ns").get<double>() + summary.at("copy_ns").get<double>());
  size_t listed = 0;
  for (const Json& sum : summary.at("by_name")) {
    if (listed++ == 10) break;
    const double spent = sum.at("nanoseconds").get<double>();
    table.add_row({printable(word(sum, "short_name")), std::to_string(sum.at("count").get<int>()),
                   spent > 0 ? seconds_text(spent * 1e-9) : "–",
                   spent > 0 ? format("{:.0f} %", 100 * spent / total) : ""});
  }
  if (!table.empty()) out += table.render(terminal, 2);
  if (summary.at("by_name").size() > 10)
    out += format("  … and {} more\n", summary.at("by_name").size() - 10);
}

void print_regions(std::string& out, const Json& side, const Terminal& terminal) {
  std::vector<const Json*> regions;
  for (const Json& region : side.at("regions"))
    if (region.contains("diagnosis")) regions.push_back(&region);
  std::ranges::stable_sort(regions, std::greater(),
                           [](const Json* one) { return one->value("seconds", 0.0); });
  Table table({{.header = "region", .least = 20},
               {.header = "time", .align = Column::Align::right},
               {.header = "share", .align = Column::Align::right},
               {.header = "bound by"},
               {.header = "launches", .align = Column::Align::right, .optional = 3},
               {.header = "gain", .align = Column::Align::right, .optional = 1},
               {.header = "model", .least = 16, .optional = 2}});
  for (size_t i = 0; i < std::min<size_t>(regions.size(), 15); ++i) {
    const Json& region = *regions[i];
    const Json& diagnosis = region.at("diagnosis");
    const double seconds = region.at("seconds").get<double>(), gain = region.value("gain_seconds", 0.0);
    const Json& lines = region.at("lines");
    table.add_row({printable(word(region, "name")), seconds > 0 ? seconds_text(seconds) : "–",
                   format("{:.0f} %", 100 * diagnosis.at("share").get<double>()),
                   word(diagnosis, "bottleneck"), std::to_string(region.at("launches").get<int>()),
                   gain > 0 ? seconds_text(gain) : "",
                   lines.empty() ? "" : printable(lines[0].get<std::string>())});
  }
  if (!table.empty()) out += table.render(terminal, 2);
  if (regions.size() > 15) out += format("  … and {} more\n", regions.size() - 15);
  for (const Json& each : side.at("suggestions"))
    out += format("  {}: {}; up to {}\n", printable(word(each, "regions")), word(each, "text"),
                  seconds_text(each["gain_seconds"].get<double>()));
}

}  // namespace

Json profile_json(const ProfileRun& run) {
  Json out = {{"model", run.model}, {"program", run.program}, {"device", run.device}, {"gpu", run.gpu.name}};
  out["sides"] = Json::array();
  if (run.pytorch) out["sides"].push_back(pytorch_json(run));
  if (run.collected) out["sides"].push_back(program_json(run));
  out["notes"] = run.notes;
  return out;
}

std::string profile_text(const Json& document, const Terminal& terminal) {
  std::string out;
  for (const Json& side : document.at("sides")) {
    if (!out.empty()) out += '\n';
    print_side(out, side, terminal);
    if (side.contains("regions") && !side["regions"].empty())
      print_regions(out, side, terminal);
    else
      print_kernels(out, side.at("summary"), terminal);
    out += "  " + styled("bottleneck", Style::bold, terminal) + ": " + printable(word(side, "bottleneck")) +
           "\n";
    if (std::string missing = word(side, "counters_missing"); !missing.empty())
      out += "  counters: " + printable(missing) + "\n";
  }
  for (const Json& note : document.at("notes")) out += "note: " + printable(note.get<std::string>()) + "\n";
  return out;
}

namespace {

std::map<int, int> launches_by_region(const profile::Timeline& timeline) {
  std::map<int, int> out;
  for (const profile::Activity& activity : timeline.activities) ++out[activity.region];
  return out;
}

}  // namespace

plan::PlannedCall estimated_call(const profile::Timeline& timeline, const Manifest& manifest,
                                 const Graph& graph, const GpuSpec& gpu) {
  const std::map<int, int> launches = launches_by_region(timeline);
  plan::PlannedCall out{.gpu = gpu.name, .seconds = gpu.launch_overhead};
  for (size_t r = 0; r < manifest.regions.size(); ++r) {
    const auto found = launches.find(static_cast<int>(r));
    double seconds = 0;
    if (found != launches.end()) {
      const profile::Work work = profile::work_of(graph, manifest.regions[r], gpu);
      seconds = plan::estimate(gpu, {work.bytes, work.flops, work.matrix_flops},
                               {0.7 * work.matrix_rate, plan::streaming_share, double(found->second)})
                    .seconds();
    }
    out.regions.push_back({manifest.regions[r].name, out.seconds, seconds});
    out.seconds += seconds;
  }
  return out;
}

void estimate_times(profile::Timeline& timeline, const plan::PlannedCall& planned) {
  auto nanoseconds = [](double seconds) { return static_cast<int64_t>(seconds * 1e9 + 0.5); };
  const std::map<int, int> launches = launches_by_region(timeline);
  std::map<int, int> done;
  int64_t at = 0;  // activities of no region are told where they stand, without a length
  for (profile::Activity& activity : timeline.activities) {
    activity.start_ns = activity.end_ns = at;
    if (activity.region < 0) continue;
    const plan::PlannedCall::Region& region = planned.regions.at(static_cast<size_t>(activity.region));
    const double each = region.seconds / launches.at(activity.region);
    const int number = done[activity.region]++;
    activity.start_ns = nanoseconds(region.start + each * number);
    activity.end_ns = nanoseconds(region.start + each * (number + 1));
    at = activity.end_ns;
  }
  // Concurrent branches were launched one after the other.
  std::ranges::stable_sort(timeline.activities, {}, &profile::Activity::start_ns);
  timeline.times = at > 0 ? profile::Times::estimated : profile::Times::none;
}

profile::Timeline estimated_timeline(const plan::PyTorchEstimate& estimate, const Graph& graph,
                                     const GpuSpec& gpu, bool in_a_graph) {
  std::vector<profile::Activity> activities;
  double at = 0;
  for (const plan::PyTorchEstimate::Operator& one : estimate.operators) {
    const Node& node = graph.nodes[one.node];
    std::string title(info(node.op).name);
    if (!node.module.empty()) title += " of " + node.module;
    const double start = in_a_graph ? at : one.start;
    at = start + one.seconds;
    activities.push_back({.name = std::move(title),
                          .start_ns = static_cast<int64_t>(start * 1e9),
                          .end_ns = static_cast<int64_t>(at * 1e9),
                          .in_graph = in_a_graph});
  }
  profile::Timeline out = profile::make_timeline(profile::Side::pytorch, gpu.name, std::move(activities));
  out.times = profile::Times::estimated;
  out.note = in_a_graph ? "estimated: a kernel per operator, replayed as one CUDA graph"
                        : "estimated: a kernel per operator, each dispatched by the host";
  return out;
}

}  // namespace stitch
