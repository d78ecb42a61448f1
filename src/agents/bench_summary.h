// What many tasks say together: how many are right, how much faster, against whom.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace stitch::agents {

// Baselines that somebody measured earlier, in seconds: of a task (its file's name without .py), by kind.
struct KnownTimes {
  std::map<std::string, double> seconds;
  bool by_events = false;  // CUDA's, around the call: without what the host takes to start it and to wait
};
struct KnownBaselines {
  std::map<std::string, KnownTimes> tasks;
};
// A line a task: {"name": "9_ResNet18", "level": 3, "eager_ms": 2.8, "compile_graph_ms": …} by CUDA events,
// as PyTorch's own benchmarks take them, or lines of our own tasks.jsonl, by wall time. A program is held
// against them by the same measure. Lines of another numerics class are passed over.
Result<KnownBaselines> read_known_baselines(const fs::path& file, const std::string& numerics);
// Adds what is known of its task to a record, under "known_baselines"; what was measured now stays.
void add_known(const KnownBaselines& known, Json& record);

// {"all": {…}, "groups": {"level1": {…}}, "tasks": […], "furthest": […], "optimising": {"median": s, "most":
// s, "phases": {"import": s, …}, "waiting": {…}}}
Json summarise(const std::vector<std::shared_ptr<const Json>>& records);

}  // namespace stitch::agents
