// One kernel, copy, fill or host call as a profiler saw it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace stitch::runner {

enum class ActivityKind : uint8_t {
  kernel,
  copy,
  fill,
  graph_launch,  // on the host: cudaGraphLaunch
  host_call,     // on the host: any other call of the CUDA API
};
std::string_view name(ActivityKind kind);  // "kernel", "copy", "fill", "graph launch", "host call"
Result<ActivityKind> parse_activity_kind(std::string_view name);
inline bool on_host(ActivityKind kind) {
  return kind == ActivityKind::graph_launch || kind == ActivityKind::host_call;
}

struct Activity {
  std::string name;  // demangled
  ActivityKind kind = ActivityKind::kernel;
  int64_t start_ns = 0, end_ns = 0;  // 0 on the emulated GPU
  int64_t stream = 0;                // of a host call: the thread
  int64_t bytes = 0;                 // of copies and fills
  int grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
  int registers = 0;
  int64_t shared_bytes = 0;
  int64_t correlation = 0;        // shared by an API call and the device work it caused; 0: not known
  bool in_graph = false;          // a node of a CUDA graph
  std::vector<std::string> used;  // on the emulated GPU: what the launch came by (emulator/README.md)
  int region = -1;  // of the program's manifest, where it is known; never taken from the candidate
  std::map<std::string, double> counters;  // the emulated GPU's, by their names in profile/metrics.h

  int64_t nanoseconds() const { return end_ns - start_ns; }
  bool operator==(const Activity&) const = default;
};

// Default fields are left out of the JSON. The text is untrusted: errors name the field.
Json to_json(const Activity& activity);
Result<Activity> activity_from_json(const Json& json);

}  // namespace stitch::runner
