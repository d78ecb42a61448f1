// Profiled calls: device activity and hardware counters.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/child/session.h"
#include "runner/child/session_parts.h"
#include "runner/wire.h"

namespace stitch::runner {

Json Session::profile_region(const Json& request) {
  put_back_outputs();
  Buffers inputs = with_any_content(request.at("inputs"));
  Buffers outputs = fresh_outputs(request.at("outputs"), 0, {}, 0);
  std::vector<StitchTensor> in = as_arguments(inputs), out = as_arguments(outputs);
  const int region = request.at("region").get<int>();
  run(region, in, out);
  value_or_fault(backend_->synchronise());
  if (auto started = backend_->start_profile(false); !started)
    throw Refusal{STITCH_UNSUPPORTED, started.error().message};
  run(region, in, out);
  value_or_fault(backend_->synchronise());
  Json reply = ok_answer();
  reply["activities"] = Json::array();
  for (const Activity& activity : value_or_fault(backend_->end_profile()))
    reply["activities"].push_back(to_json(activity));
  return reply;
}

Json Session::can_profile() {
  if (auto started = backend_->start_profile(false); !started)
    throw Refusal{STITCH_UNSUPPORTED, started.error().message};
  value_or_fault(backend_->end_profile());
  return ok_answer();
}

Json Session::profile(const Json& request) {
  put_back_outputs();
  outputs_ = fresh_outputs(request.at("outputs"), 0, {}, 0);
  std::vector<StitchTensor> in = as_arguments(set(request)), out = as_arguments(outputs_);
  value_or_fault(backend_->synchronise());
  const bool outside = request.value("outside", false), host_calls = request.value("host_calls", false);
  if (request.value("warm", false)) {
    // Started before the warm-up, since it may not see into graphs created before it.
    const bool watched = !outside && backend_->start_profile(host_calls);
    run(-1, in, out);
    value_or_fault(backend_->synchronise());
    if (watched) value_or_fault(backend_->end_profile());
  }
  if (outside) {
    backend_->mark_profile(true);
    run(-1, in, out);
    value_or_fault(backend_->synchronise());
    backend_->mark_profile(false);
    Json reply = ok_answer();
    reply["activities"] = Json::array();
    return reply;
  }
  if (auto started = backend_->start_profile(host_calls); !started)
    throw Refusal{STITCH_UNSUPPORTED, started.error().message};
  run(-1, in, out);
  value_or_fault(backend_->synchronise());
  Json activities = Json::array();
  for (const Activity& activity : value_or_fault(backend_->end_profile()))
    activities.push_back(to_json(activity));
  Json reply = ok_answer();
  reply["activities"] = std::move(activities);
  return reply;
}

Json Session::count(const Json& request) {
  put_back_outputs();
  outputs_ = fresh_outputs(request.at("outputs"), 0, {}, 0);
  std::vector<StitchTensor> in = as_arguments(set(request)), out = as_arguments(outputs_);
  value_or_fault(backend_->synchronise());
  const auto counters = request.at("counters").get<std::vector<std::string>>();
  if (auto started = backend_->start_counters(counters, request.at("most").get<int>()); !started)
    throw Refusal{STITCH_UNSUPPORTED, started.error().message};
  run(-1, in, out);
  value_or_fault(backend_->synchronise());
  auto counted = backend_->end_counters();
  if (!counted) throw Refusal{STITCH_UNSUPPORTED, counted.error().message};
  Json reply = ok_answer();
  reply["launches"] = *counted;
  return reply;
}

// Times one region alone.

// Every run starts from the same state: caches flushed, then inputs written, as the region before would leave
// them. Two clocks: profiled activity, and events around it, which include gaps between kernels.
Json Session::time_region(const Json& request) {
  constexpr int64_t slow = 30'000'000;  // nanoseconds: one run is enough
  put_back_outputs();
  Buffers inputs = with_any_content(request.at("inputs")), outputs = with_any_content(request.at("outputs"));
  std::vector<StitchTensor> in = as_arguments(inputs), out = as_arguments(outputs);
  const int region = request.at("region").get<int>();
  const int64_t flush = request.value("flush", int64_t{0});
  const bool profiler = request.value("profiler", true);
  run(region, in, out);  // loads kernels; libraries choose algorithms
  value_or_fault(backend_->synchronise());
  const int64_t begin = now_ns();
  run(region, in, out);
  value_or_fault(backend_->synchronise());
  const int repeats = now_ns() - begin > slow ? 1 : std::clamp(request.value("repeats", 1), 1, 1000);
  Json reply = ok_answer();
  reply["runs"] = Json::array();
  for (int i = 0; i < repeats; ++i) {
    value_or_fault(backend_->flush_caches(flush));
    for (GuardedBuffer& input : inputs) value_or_fault(input.poison(any_content(input.type().dtype)));
    value_or_fault(backend_->synchronise());
    const bool watched = profiler && bool(backend_->start_profile(false));
    backend_->mark_begin();
    run(region, in, out);
    backend_->mark_end();
    value_or_fault(backend_->synchronise());
    int64_t busy = 0;
    size_t activities = 0;
    if (watched)
      for (const Activity& activity : value_or_fault(backend_->end_profile())) {
        busy += activity.nanoseconds();
        ++activities;
      }
    reply["runs"].push_back({busy, activities, backend_->marked_ns()});
  }
  return reply;
}

}  // namespace stitch::runner
