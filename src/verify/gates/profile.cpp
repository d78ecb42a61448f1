// What one call makes the device do, and how much of its memory the program wants.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "device/gpu_lock.h"
#include "verify/agreed.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

constexpr size_t most_listed = 2000;  // kernels one by one: name, start, nanoseconds

// What the program itself takes on the device. Only the whole GPU's memory can be seen, and processes that
// end give theirs back whenever they do: it is packed again until two in a row say the same. The first time
// kernels are loaded, too, which nobody counts for PyTorch.
Result<std::optional<int64_t>> packed_bytes(Attempt& attempt) {
  constexpr int64_t least = int64_t{4} << 20;
  return agreed(
      [&]() -> Result<int64_t> {
        STITCH_CHECK(attempt.create_again());
        return attempt.device_bytes();
      },
      least);
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

std::string memory_text(const Json& memory) {
  auto text = [&](const char* name) { return bytes_text(memory.at(name).get<double>()); };
  std::string out = text("program_bytes");
  return memory.contains("pytorch_bytes") ? out + " (PyTorch " + text("pytorch_bytes") + ")" : out;
}

}  // namespace

Result<Passed> profile(Session& session, Json& evidence) {
  if (session.trials.empty()) return skipped("no trial to repeat");
  std::optional<device::GpuLock> alone;
  if (session.options.timing && session.options.device == runner::Device::cuda) {
    STITCH_CHECK(Attempt::load(session));  // which others needn't wait for
    STITCH_TRY(device::GpuLock lock, device::GpuLock::take());
    alone.emplace(std::move(lock));
  }
  STITCH_TRY(Attempt attempt, Attempt::start(session, Weights::task));
  std::optional<int64_t> packed;
  if (alone && !session.python) {
    STITCH_TRY(packed, packed_bytes(attempt));
  }
  STITCH_TRY(int set, attempt.place(session.trials[0]));
  auto reply = attempt.candidate().profile(set, attempt.output_types());
  if (reply.failure && reply.failure->kind == runner::FailureKind::refused)
    return skipped(reply.failure->message);
  STITCH_TRY(session.activities, or_found(std::move(reply), "it was profiled"));
  alone.reset();
  if (session.activities.empty()) return found("no_work", "a call makes the device do nothing at all");
  struct Sum {
    int count = 0;
    int64_t nanoseconds = 0;
  };
  std::map<std::string, Sum> sums;
  std::ranges::stable_sort(session.activities, {}, &runner::Activity::start_ns);
  const int64_t first = session.activities.front().start_ns;
  int64_t last = first, busy = 0;
  for (const runner::Activity& activity : session.activities) {
    Sum& sum = sums[activity.name];
    ++sum.count;
    sum.nanoseconds += activity.end_ns - activity.start_ns;
    // What runs side by side keeps the device busy once.
    busy += std::max<int64_t>(0, activity.end_ns - std::max(activity.start_ns, last));
    last = std::max(last, activity.end_ns);
  }
  for (size_t i = 0; i < std::min(session.activities.size(), most_listed); ++i) {
    const runner::Activity& activity = session.activities[i];
    evidence["activities"].push_back(
        {activity.name, activity.start_ns - first, activity.end_ns - activity.start_ns});
  }
  for (const auto& [kernel, sum] : sums)
    evidence["kernels"].push_back({{"name", kernel}, {"count", sum.count}, {"nanoseconds", sum.nanoseconds}});
  std::string summary = format("{} launches of {} kernels", session.activities.size(), sums.size());
  if (last > first) {
    evidence["span_ns"] = last - first;
    evidence["busy_ns"] = busy;
    summary += format(", {} busy of {}", seconds_text(static_cast<double>(busy) * 1e-9),
                      seconds_text(static_cast<double>(last - first) * 1e-9));
  }
  if (packed) {
    evidence["memory"] = memory(session, *packed);
    summary += ", " + memory_text(evidence["memory"]);
  }
  return Passed{summary};
}

}  // namespace stitch::verifier
