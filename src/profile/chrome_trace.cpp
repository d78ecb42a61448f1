// The Trace Event Format that chrome://tracing and Perfetto read: complete events ("X") in microseconds, flow
// arrows ("s", "f") from a host call to what it made the device do.
#include <map>
#include <nlohmann/json.hpp>

#include "profile/timeline.h"

namespace stitch::profile {

namespace {

constexpr int64_t host_threads = 1'000'000;  // numbers of host threads, apart from the streams'

Json metadata(const char* what, size_t process, int64_t thread, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

Json event(const Activity& activity, size_t process, int64_t thread) {
  Json out = {{"ph", "X"},
              {"name", short_name(activity.name)},
              {"cat", name(activity.kind)},
              {"pid", process},
              {"tid", thread},
              {"ts", microseconds(activity.start_ns)},
              {"dur", microseconds(activity.nanoseconds())},
              {"args", {{"name", activity.name}}}};
  Json& facts = out["args"];
  if (activity.block[0]) {
    facts["grid"] = activity.grid;
    facts["block"] = activity.block;
    facts["registers"] = activity.registers;
    facts["shared_bytes"] = activity.shared_bytes;
  }
  if (activity.bytes) facts["bytes"] = activity.bytes;
  if (activity.correlation) facts["correlation"] = activity.correlation;
  for (const auto& [counter, value] : activity.counters) facts[counter] = value;
  return out;
}

Json arrow(const char* phase, const Activity& activity, size_t process, int64_t thread) {
  Json out = {{"ph", phase},
              {"name", "launch"},
              {"cat", "launch"},
              {"id", activity.correlation * 16 + static_cast<int64_t>(process)},
              {"pid", process},
              {"tid", thread},
              {"ts", microseconds(activity.start_ns)}};
  if (*phase == 'f') out["bp"] = "e";
  return out;
}

}  // namespace

Json chrome_trace(const std::vector<Timeline>& timelines) {
  Json events = Json::array();
  for (size_t process = 1; process <= timelines.size(); ++process) {
    const Timeline& timeline = timelines[process - 1];
    std::string title = std::string(name(timeline.side)) + " on " + timeline.device;
    if (timeline.times != Times::measured)
      title += timeline.times == Times::estimated ? " (estimated times)" : " (no times: launches in order)";
    events.push_back(metadata("process_name", process, 0, title));
    std::map<int64_t, std::string> threads;
    std::map<int64_t, const Activity*> callers;
    for (const Activity& call : timeline.host) {
      const int64_t thread = host_threads + call.stream % host_threads;
      threads[thread] = "host: CUDA calls";
      events.push_back(event(call, process, thread));
      if (call.correlation) callers[call.correlation] = &call;
    }
    for (size_t i = 0; i < timeline.activities.size(); ++i) {
      Activity activity = timeline.activities[i];
      if (timeline.times == Times::none) {  // each a microsecond, one after the other
        activity.start_ns = static_cast<int64_t>(i) * 1000;
        activity.end_ns = activity.start_ns + 1000;
      }
      threads[activity.stream] = "stream " + std::to_string(activity.stream);
      events.push_back(event(activity, process, activity.stream));
      auto caller = callers.find(activity.correlation);
      if (!activity.correlation || caller == callers.end()) continue;
      // A graph's launch has many kernels; one arrow is enough.
      events.push_back(
          arrow("s", *caller->second, process, host_threads + caller->second->stream % host_threads));
      events.push_back(arrow("f", activity, process, activity.stream));
      callers.erase(caller);
    }
    for (const auto& [thread, title_of_thread] : threads)
      events.push_back(metadata("thread_name", process, thread, title_of_thread));
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace stitch::profile
