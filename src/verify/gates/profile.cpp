// What one call makes the device do, and how much of its memory the program wants.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "gpu/gpu_lock.h"
#include "profile/regions.h"
#include "reference/torch_reference.h"
#include "runner/ready.h"
#include "verify/attempt.h"
#include "verify/clock/agreed.h"
#include "verify/gates/gates.h"
#include "verify/not_judged.h"

namespace stitch::verifier {

namespace {

constexpr size_t most_diagnosed = 12;  // regions, longest first
constexpr size_t most_listed = 2000;   // kernels one by one: name, start, nanoseconds

// What the program itself takes on the device. Only the whole GPU's memory can be seen, and processes that
// end give theirs back whenever they do: it is packed again until two in a row say the same. The first time
// kernels are loaded, too, which is not counted for PyTorch.
Result<std::optional<int64_t>> packed_bytes(Attempt& attempt, int most_tries) {
  constexpr int64_t least = int64_t{4} << 20;
  return agreed(
      [&]() -> Result<int64_t> {
        STITCH_CHECK(attempt.create_again());
        return attempt.device_bytes();
      },
      least, most_tries);
}

// What calls need. The weights it was created from may be freed by then: the program has its own.
Json memory(Session& session, int64_t bytes) {
  const Signature& signature = session.task.signature;
  for (const auto* side : {&signature.inputs, &signature.outputs})
    for (const ManifestTensor& tensor : *side) bytes += tensor.type.bytes();
  Json out = {{"program_bytes", bytes}};
  if (session.torch)
    if (auto peak = session.torch->peak_bytes()) out["pytorch_bytes"] = *peak;
  return out;
}

bool is_above_pytorch(const Json& memory) {
  return memory.contains("pytorch_bytes") && memory["program_bytes"] > memory["pytorch_bytes"];
}

std::string memory_text(const Json& memory) {
  auto text = [&](const char* name) { return bytes_text(memory.at(name).get<double>()); };
  std::string out = text("program_bytes");
  return memory.contains("pytorch_bytes") ? out + " (PyTorch " + text("pytorch_bytes") + ")" : out;
}

// What reports read: kernels one by one, and their sums. `knows_used`: what launches came by is known.
void list_kernels(Json& evidence, const profile::Timeline& timeline, const profile::Summary& summed,
                  bool knows_used) {
  const int64_t first = timeline.activities.front().start_ns;
  for (size_t i = 0; i < std::min(timeline.activities.size(), most_listed); ++i) {
    const profile::Activity& activity = timeline.activities[i];
    evidence["activities"].push_back({activity.name, activity.start_ns - first, activity.nanoseconds()});
  }
  std::map<std::string, double> threads;
  std::map<std::string, std::set<std::string>> used;
  auto count = [](const int(&size)[3]) { return double{1} * size[0] * size[1] * size[2]; };
  for (const profile::Activity& activity : timeline.activities) {
    threads[activity.name] += count(activity.grid) * count(activity.block);
    used[activity.name].insert(activity.used.begin(), activity.used.end());
  }
  for (const profile::KernelSum& sum : summed.by_name) {
    evidence["kernels"].push_back({{"name", sum.name},
                                   {"count", sum.count},
                                   {"nanoseconds", sum.nanoseconds},
                                   {"threads", threads[sum.name]}});
    if (knows_used) evidence["kernels"].back()["used"] = used[sum.name];
  }
  if (summed.span_ns <= 0) return;
  evidence["span_ns"] = summed.span_ns;
  evidence["busy_ns"] = summed.busy_ns;
  evidence["idle_share"] = summed.idle_share();
  if (!timeline.host.empty()) {
    evidence["host_calls"] = summed.host_calls;
    evidence["host_ns"] = summed.host_ns;
    evidence["launching_ns"] = summed.launching_ns;
    evidence["waiting_ns"] = summed.waiting_ns;
    evidence["graph_launches"] = summed.graph_launches;
  }
}

// What eager PyTorch starts for the same task: what of it a ModelNew still does is told from it. That isn't
// worth a failure.
void list_pytorch_kernels(Session& session, Json& evidence) {
  if (!session.torch || !session.gpu) return;
  auto ready = session.torch->prepare_baseline("eager", session.next_seed());
  if (!ready || !ready->unavailable.empty() || !session.torch->warm_profiler()) return;
  auto alone = GpuLock::take();
  if (!alone) return;
  auto timeline = session.torch->profile_baseline("eager", session.gpu->name);
  if (!timeline) return;
  for (const profile::KernelSum& sum : profile::summarise(*timeline).by_name)
    evidence["pytorch_kernels"].push_back(
        {{"name", sum.name}, {"count", sum.count}, {"nanoseconds", sum.nanoseconds}});
}

// Seconds on the device, region by region.
void list_regions(Json& evidence, const Manifest& manifest, const profile::Timeline& timeline) {
  std::map<int, std::pair<int64_t, int>> sums;
  for (const profile::Activity& activity : timeline.activities)
    if (activity.region >= 0) {
      sums[activity.region].first += activity.nanoseconds();
      ++sums[activity.region].second;
    }
  for (const auto& [region, sum] : sums)
    evidence["region_times"].push_back({{"name", manifest.regions[static_cast<size_t>(region)].name},
                                        {"nanoseconds", sum.first},
                                        {"launches", sum.second}});
}

// By the timeline, the build and the graph's costs: counters take seconds, and a step has none to give.
profile::Diagnoses diagnose(const Session& session, const profile::Timeline& timeline) {
  std::map<std::string, profile::KernelMetrics> metrics;
  for (const profile::Activity& activity : timeline.activities) {
    if (activity.kind != profile::ActivityKind::kernel || metrics.contains(activity.name)) continue;
    auto built = std::ranges::find(session.built.resources, activity.name, &build::KernelResources::kernel);
    metrics[activity.name] = profile::metrics_of_launch(
        activity, built == session.built.resources.end() ? nullptr : &*built, *session.gpu);
  }
  const auto subjects =
      profile::subjects_of(timeline, session.manifest, metrics, &session.task.graph, *session.gpu);
  return profile::diagnose(timeline, subjects, *session.gpu);
}

}  // namespace

Result<Passed> profile(Session& session, Json& evidence) {
  if (!session.options.profile) return skipped("not asked for");
  if (session.trials.empty()) return skipped("no trial to repeat");
  // Not worth a process that imports PyTorch.
  if (session.python && session.options.device != runner::Device::cuda)
    return skipped("there is no profiler for the CPU");
  const bool cuda = session.options.device == runner::Device::cuda;
  std::optional<GpuLock> alone;
  STITCH_TRY(const std::shared_ptr<Attempt> asked, Attempt::of(session, Weights::task));
  Attempt& attempt = *asked;
  if (!session.no_profiler) return skipped("no profiler was looked for");
  if (!session.no_profiler->empty()) return skipped(*session.no_profiler);
  STITCH_TRY(int set, attempt.place(session.trials[0]));
  // Loaded and created beside others, who would wait for seconds: alone is what is measured, times, and
  // memory where others allocate too much for two to agree, or where it counts against the program.
  std::optional<int64_t> packed;
  const bool counts = session.options.timing && cuda && !session.python;
  if (counts) {
    STITCH_TRY(packed, packed_bytes(attempt, 3));
    // Two in a row may have counted a neighbour that is packed again and again, too.
    if (packed && is_above_pytorch(memory(session, *packed))) packed.reset();
  }
  auto be_alone = [&]() -> Result<void> {
    STITCH_TRY(GpuLock lock, GpuLock::take());
    alone.emplace(std::move(lock));
    return {};
  };
  if (session.options.timing && cuda) {
    GpuVisit::step_out();
    runner::ReadyCandidates::here().settle();
    STITCH_CHECK(be_alone());
  }
  if (counts && !packed) {
    auto bytes = packed_bytes(attempt, 5);
    if (bytes || !is_out_of_gpu_memory(bytes.error())) {
      STITCH_TRY(packed, std::move(bytes));
    } else {
      // Others filled the GPU and wait for it: it is created again beside them, and its memory is not told.
      alone.reset();
      STITCH_CHECK(attempt.create_again());
      STITCH_CHECK(be_alone());
    }
  }
  auto reply = attempt.candidate().profile(
      set, attempt.output_types(), {.host_calls = cuda && !session.python, .warm = cuda && !session.python});
  STITCH_TRY(auto activities, or_found(std::move(reply), "it was profiled"));
  alone.reset();
  profile::Timeline timeline =
      profile::make_timeline(profile::Side::program, cuda && session.gpu ? session.gpu->name : "emulated GPU",
                             std::move(activities));
  profile::RegionKernels known;
  if (cuda && !session.python)
    known = profile::kernels_of_regions(attempt.candidate(), session.manifest, std::chrono::seconds(3));
  profile::assign_regions(timeline, session.manifest, known);
  session.activities = timeline.activities;
  if (session.activities.empty()) return found("no_work", "a call makes the device do nothing at all");
  const profile::Summary summed = profile::summarise(timeline);
  list_kernels(evidence, timeline, summed, session.options.device == runner::Device::emulated);
  std::string summary = format("{} of {}", counted(std::ssize(session.activities), "launch", "launches"),
                               counted(std::ssize(summed.by_name), "kernel"));
  if (summed.span_ns > 0)
    summary += format(", {} busy of {}", seconds_text(static_cast<double>(summed.busy_ns) * 1e-9),
                      seconds_text(static_cast<double>(summed.span_ns) * 1e-9));
  if (cuda && session.gpu && summed.span_ns > 0) {
    if (!known.empty()) list_regions(evidence, session.manifest, timeline);
    const profile::Diagnoses diagnoses = diagnose(session, timeline);
    evidence["diagnosis"] = to_json(diagnoses.whole);
    for (const profile::Diagnosis& region : diagnoses.regions) {
      if (evidence["regions"].size() == most_diagnosed) break;
      evidence["regions"].push_back(to_json(region));
    }
    summary += format(", {}-bound", name(diagnoses.whole.bottleneck));
  }
  if (session.python) list_pytorch_kernels(session, evidence);
  if (packed) {
    evidence["memory"] = memory(session, *packed);
    summary += ", " + memory_text(evidence["memory"]);
  }
  return Passed{summary};
}

}  // namespace stitch::verifier
