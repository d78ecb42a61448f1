// Many tasks, each optimised in its own process: a crash, a hang or running out of memory affects no other
// task, and a task that failed for lack of resources is retried alone. A finished task is a line in a file,
// so a killed run resumes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/machine/process.h"

namespace stitch::agents {

struct BenchTask {
  fs::path path;
  std::string name;            // of its files below the output folder: level1/1_Square
  std::string group;           // its folder: level1
  double pytorch_seconds = 0;  // the best PyTorch's, measured earlier; 0: not known
};

struct BenchOptions {
  std::vector<BenchTask> tasks;
  fs::path out;
  std::vector<std::string> flags;  // of `optimize`, the same for all
  std::string identity;            // what else may change a result: version, GPU
  int jobs = 1;
  int seconds_a_task = 3600;  // then it is stopped
  std::function<void(const BenchTask&task)> on_start,
      on_end;  // on_end: also before a retry
  std::function<void(const BenchTask& task, const Json& record)> on_done;
  std::function<bool()> should_stop;
  // Called once before the first task with all that are to do, to prepare shared resources.
  std::function<void(const std::vector<BenchTask>& todo)> before_all;
  // Runs a task and returns its record; null: no task can be run any more. Default: a process of `optimize`.
  std::function<Json(const BenchTask& task)> optimise;
};

struct BenchRun {
  std::vector<std::shared_ptr<const Json>> records;  // in the order of the tasks; null: not done
  int earlier = 0;                                   // of them, from an earlier run
  bool stopped = false;
};

// Of a task's `optimize`: those of all tasks, and what is known of this one.
std::vector<std::string> flags_of(const BenchTask& task, const BenchOptions& options);

// The record of a task from the output of `optimize --json`.
Json record_of(const BenchTask& task, const Json& answer);

// A finished process of `optimize`, here or on another machine.
struct OptimizeEnd {
  std::string output;  // the JSON document, if it was printed
  int exit_code = -1;
  bool timed_out = false;
  std::string error_tail;
};
Json record_of(const BenchTask& task, const OptimizeEnd& end, int seconds_a_task);
// Arguments and environment of a process that runs beside `jobs` others. With --force: a line of tasks.jsonl
// is about the latest program in the folder.
Command optimize_command(const fs::path& task, const fs::path& program, const std::vector<std::string>& flags,
                         int seconds, int jobs);

// Out of memory, a timeout, a crash or a clock in doubt may be caused by the tasks that ran beside it.
bool may_do_better_alone(const Json& record);

// Records of an earlier run by key; an incomplete last line is ignored.
using BenchRecords = std::map<std::string, std::shared_ptr<const Json>>;
BenchRecords read_records(const fs::path& file);
// The latest record of each task that isn't in `tasks`, in file order: results that a run of a few tasks
// keeps.
std::vector<std::shared_ptr<const Json>> records_of_others(const fs::path& file,
                                                           const std::vector<BenchTask>& tasks);

// Reads and appends to out/tasks.jsonl. Programs are below out/programs.
Result<BenchRun> run_bench(const BenchOptions& options);

// Summary over many tasks: how many pass, and their speedups over each baseline.

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
