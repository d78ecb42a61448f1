// Many tasks, each optimised in a process of its own: one that crashes, hangs or eats all memory takes nobody
// along, and what the others may have done to it is tried once more when they are gone. A task that is done
// is a line in a file, so a run that was killed goes on where it was.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"

namespace stitch::agents {

struct BenchTask {
  fs::path path;
  std::string name;   // of its files below the out folder: level1/1_Square
  std::string group;  // the folder it lies in: level1
};

struct BenchOptions {
  std::vector<BenchTask> tasks;
  fs::path out;
  std::vector<std::string> flags;  // of `optimize`, the same for all
  std::string identity;            // of what else may change a result: version, GPU
  int jobs = 1;
  int seconds_a_task = 3600;  // then it is given up
  std::function<void(const BenchTask&task)> on_start,
      on_end;  // on_end: also of one that is tried again later
  std::function<void(const BenchTask& task, const Json& record)> on_done;
  std::function<bool()> should_stop;
  // Told once, before any of them is begun, of those that are to do: for what they can share.
  std::function<void(const std::vector<BenchTask>& todo)> before_all;
  // Its record; null: it can't be done now, and nothing else either. By itself a process of `optimize`.
  std::function<Json(const BenchTask& task)> optimise;
};

struct BenchRun {
  std::vector<std::shared_ptr<const Json>> records;  // in the order of the tasks; null: not done
  int earlier = 0;                                   // of them, from an earlier run
  bool stopped = false;
};

// What a run of `optimize --json` says of a task, in one line.
Json record_of(const BenchTask& task, const Json& answer);

// A process of `optimize`, here or on another machine, once it has ended.
struct OptimizeEnd {
  std::string output;  // the document, if it got so far
  int exit_code = -1;
  bool timed_out = false;
  std::string error_tail;
};
Json record_of(const BenchTask& task, const OptimizeEnd& end, int seconds_a_task);
// Its words and its environment, beside `jobs` of its kind. --force: a line of tasks.jsonl speaks of the
// program that is there, always the latest.
Command optimize_command(const fs::path& task, const fs::path& program, const std::vector<std::string>& flags,
                         int seconds, int jobs);

// Too little memory, too little time, a crash: that may be the others' doing.
bool may_do_better_alone(const Json& record);

// Lines of an earlier run by their keys; half a line at the end is nobody's.
using BenchRecords = std::map<std::string, std::shared_ptr<const Json>>;
BenchRecords read_records(const fs::path& file);
// The latest record of each task that is none of `tasks`, in the order of the file: what a run of a few tasks
// leaves as it was.
std::vector<std::shared_ptr<const Json>> records_of_others(const fs::path& file,
                                                           const std::vector<BenchTask>& tasks);

// Reads and goes on writing out/tasks.jsonl. Programs are below out/programs.
Result<BenchRun> run_bench(const BenchOptions& options);

}  // namespace stitch::agents
