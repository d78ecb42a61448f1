// What limits a whole call: the host that launches, or what the device does. The rules are tried in order;
// where none holds, the longest subject's bottleneck is the call's.
#include <algorithm>

#include "base/text.h"
#include "profile/rules.h"

namespace stitch::profile {

namespace {

constexpr double much_idle = 0.25;         // of the span
constexpr int64_t host_works_ns = 25'000;  // between two launches: longer than any launch takes

struct Seen {
  const Timeline& timeline;
  const Summary summary;
  const GpuSpec& gpu;
  double seconds = 0;  // of the span

  double idle_seconds() const { return double(summary.span_ns - summary.busy_ns) * 1e-9; }
};

struct Finding {
  std::vector<Figure> evidence;
  std::string suggestion;
  double gain = 0;
};
using Found = std::optional<Finding>;

std::vector<Figure> idleness(const Seen& seen) {
  const Summary& summary = seen.summary;
  return {{"idle_share", 100 * summary.idle_share(), "%"},
          {"idle_seconds", seen.idle_seconds(), "s"},
          {"kernels", double(summary.kernels), ""},
          {"gaps", double(summary.gaps.size()), ""}};
}

// Copies between host and device, which both sides see by their names ("Memcpy HtoD", "copy host to device").
int64_t host_copies_ns(const Timeline& timeline) {
  int64_t sum = 0;
  for (const Activity& one : timeline.activities)
    if (one.kind == ActivityKind::copy)
      for (std::string_view sign : {"HtoD", "DtoH", "host to device", "device to host"})
        if (one.name.find(sign) != one.name.npos) {
          sum += one.nanoseconds();
          break;
        }
  return sum;
}

Found copies_to_host(const Seen& seen) {
  const double seconds = double(host_copies_ns(seen.timeline)) * 1e-9;
  if (seconds < 0.3 * seen.seconds) return {};
  return Finding{
      {{"host_copy_seconds", seconds, "s"}, {"span_seconds", seen.seconds, "s"}},
      "keep the data on the device between calls, or overlap copies with kernels on another stream",
      0.9 * seconds};
}

// Synchronising calls that end before the last kernel starts: the host waits in the middle of the call.
int waits_in_between(const Timeline& timeline) {
  if (timeline.activities.empty()) return 0;
  const int64_t last = timeline.activities.back().start_ns;
  return static_cast<int>(std::ranges::count_if(timeline.host, [&](const Activity& call) {
    return waits_for_device(call.name) && call.end_ns <= last;
  }));
}

Found waiting_host(const Seen& seen) {
  const int waits = waits_in_between(seen.timeline);
  if (seen.summary.idle_share() < much_idle || waits < 2 || waits * 5 < seen.summary.kernels) return {};
  auto evidence = idleness(seen);
  evidence.push_back({"synchronisations", double(waits), ""});
  return Finding{evidence, "don't synchronise between launches: decide on the device, wait once at the end",
                 0.9 * seen.idle_seconds()};
}

Found working_host(const Seen& seen) {
  int64_t in_long_gaps = 0;
  for (const Gap& gap : seen.summary.gaps)
    if (gap.nanoseconds() >= host_works_ns) in_long_gaps += gap.nanoseconds();
  const double seconds = double(in_long_gaps) * 1e-9;
  if (seconds < much_idle * seen.seconds) return {};
  auto evidence = idleness(seen);
  evidence.push_back({"seconds_in_gaps_over_25_us", seconds, "s"});
  return Finding{evidence,
                 "do the host's work before the call or overlap it with kernels: the device waits for it",
                 0.9 * seconds};
}

bool in_a_graph(const Seen& seen) {
  return std::ranges::any_of(seen.timeline.activities, &Activity::in_graph);
}

Found gaps_between_launches(const Seen& seen) {
  if (seen.summary.idle_share() < much_idle || seen.summary.kernels < 2) return {};
  const double left =
      in_a_graph(seen) ? 0.5 * seen.idle_seconds() : seen.summary.kernels * seen.gpu.kernel_overhead;
  return Finding{idleness(seen),
                 in_a_graph(seen) ? "fuse kernels: even in a CUDA graph the device waits between them"
                                  : "capture the call as a CUDA graph, and fuse short kernels",
                 std::max(0.0, seen.idle_seconds() - left)};
}

Found many_short_kernels(const Seen& seen) {
  std::vector<int64_t> lengths;
  for (const Activity& one : seen.timeline.activities)
    if (one.kind == ActivityKind::kernel) lengths.push_back(one.nanoseconds());
  if (lengths.size() < 8) return {};
  std::ranges::nth_element(lengths, lengths.begin() + std::ssize(lengths) / 2);
  const int64_t median = lengths[lengths.size() / 2];
  int64_t in_short = 0;
  for (int64_t length : lengths)
    if (length <= 4'000) in_short += length;
  if (median > 4'000 || double(in_short) * 1e-9 < 0.4 * seen.seconds) return {};
  auto evidence = idleness(seen);
  evidence.push_back({"median_kernel_seconds", double(median) * 1e-9, "s"});
  return Finding{evidence, "fuse kernels: most of them take little longer than a launch",
                 std::min(0.5 * seen.seconds, double(lengths.size()) * seen.gpu.kernel_overhead)};
}

struct Rule {
  RuleInfo info;
  Found (*find)(const Seen&);
};

constexpr Rule rules[] = {
    {{"copies_to_host", Bottleneck::host, "copies between host and device take 30 % of the call"},
     copies_to_host},
    {{"waiting_host", Bottleneck::host, "25 % idle, and the host waits for the device between launches"},
     waiting_host},
    {{"working_host", Bottleneck::host, "25 % of the call in gaps longer than 25 us"}, working_host},
    {{"gaps_between_launches", Bottleneck::launch, "25 % idle"}, gaps_between_launches},
    {{"many_short_kernels", Bottleneck::launch, "40 % of the call in kernels under 4 us"},
     many_short_kernels},
};

}  // namespace

Diagnoses diagnose(const Timeline& timeline, const std::vector<Subject>& subjects, const GpuSpec& gpu) {
  Diagnoses out;
  const Seen seen{timeline, summarise(timeline), gpu,
                  double(std::max<int64_t>(summarise(timeline).span_ns, 0)) * 1e-9};
  double total = 0;
  for (const Subject& subject : subjects) total += subject.seconds;
  const double whole = std::max(seen.seconds, total);
  for (const Subject& subject : subjects) {
    out.regions.push_back(diagnose(subject, gpu));
    if (whole > 0) out.regions.back().share = subject.seconds / whole;
  }
  std::ranges::stable_sort(out.regions, std::greater(), &Diagnosis::seconds);
  // Estimates know the gaps that launches leave and how short kernels are, and nothing of the host's calls.
  const auto holds = [&](const Rule& rule) {
    const bool looks = timeline.times == Times::measured || rule.info.bottleneck == Bottleneck::launch;
    return looks ? rule.find(seen) : Found();
  };
  if (timeline.times != Times::none)
    for (const Rule& rule : rules)
      if (Found found = holds(rule)) {
        out.whole = {.subject = "program",
                     .bottleneck = rule.info.bottleneck,
                     .rule = std::string(rule.info.name),
                     .seconds = whole,
                     .share = 1,
                     .evidence = std::move(found->evidence),
                     .suggestion = std::move(found->suggestion),
                     .expected_gain_seconds = std::clamp(found->gain, 0.0, whole)};
        out.whole.missing = timeline.times == Times::estimated ? "times are the cost model's estimates"
                            : timeline.host.empty()            ? "the host's calls were not recorded"
                                                               : "";
        return out;
      }
  if (out.regions.empty()) {
    out.whole.subject = "program";
    out.whole.rule = "nothing_ran";
    out.whole.missing = "nothing ran on the device";
    return out;
  }
  // The one whose cure saves most; among equals the longest.
  const Diagnosis& worst = *std::ranges::max_element(
      out.regions, {}, [](const Diagnosis& one) { return one.expected_gain_seconds; });
  const Diagnosis& chosen = worst.expected_gain_seconds > 0 ? worst : out.regions.front();
  out.whole = chosen;
  out.whole.subject = "program";
  out.whole.seconds = whole;
  out.whole.share = 1;
  out.whole.suggestion = format("in {}: {}", chosen.subject, chosen.suggestion);
  out.whole.evidence.insert(
      out.whole.evidence.begin(),
      {{"share_of_call", 100 * chosen.share, "%"}, {"idle_share", 100 * seen.summary.idle_share(), "%"}});
  if (timeline.times == Times::estimated)
    out.whole.missing =
        "times are the cost model's estimates" + (out.whole.missing.empty() ? "" : "; " + out.whole.missing);
  return out;
}

std::vector<RuleInfo> call_rules() {
  std::vector<RuleInfo> out;
  for (const Rule& rule : rules) out.push_back(rule.info);
  return out;
}

}  // namespace stitch::profile
