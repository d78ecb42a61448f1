// Summary over many tasks: how many pass, and their speedups over each baseline.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace stitch::agents {

// Baselines measured earlier, in seconds: by task (file name without .py) and kind.
struct KnownTimes {
  std::map<std::string, double> seconds;
  bool by_events = false;  // CUDA events around the call: without the host's launch and synchronisation
};
struct KnownBaselines {
  std::map<std::string, KnownTimes> tasks;
};
// A line a task: {"name": "9_ResNet18", "level": 3, "eager_ms": 2.8, "compile_graph_ms": …} by CUDA events,
// as PyTorch's own benchmarks take them, or lines of our own tasks.jsonl, by wall time. A program is compared
// with them by the same measure. Lines of another numerics class are skipped.
Result<KnownBaselines> read_known_baselines(const fs::path& file, const std::string& numerics);
// The fastest; 0: none is known.
double best_known(const KnownBaselines& known, const std::string& task);
// Adds known baselines of its task to a record, under "known_baselines"; measured ones are kept.
void add_known(const KnownBaselines& known, Json& record);

// {"all": {…}, "groups": {"level1": {…}}, "tasks": […], "furthest": […], "optimising": {"median": s, "most":
// s, "phases": {"import": s, …}, "waiting": {…}}}
// A task that passed and was measured has a "score", 1 / (1 + (own - floor) / (best baseline - floor)), or
// says in "no_score" why it has none. Below its floor: the floor is wrong, or the clock.
Json summarise(const std::vector<std::shared_ptr<const Json>>& records);

}  // namespace stitch::agents
