// The loop: plan, code, verify, keep what is better, ship the best.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "agents/brains.h"
#include "agents/llm/llm_session.h"
#include "agents/loop/ledger.h"
#include "agents/record/events.h"
#include "base/json.h"
#include "base/output_folder.h"
#include "import/task.h"
#include "program/package.h"

namespace stitch::agents {

class Replay;

// Where and how a run is recorded.
struct Recording {
  fs::path store;
  std::string resume;   // the run to resume; empty: a new one
  std::string options;  // JSON, for resuming it
  std::string version;  // of stitchcuda
  bool memory = true;   // start from the results of earlier runs
};

// As the shipped program is judged (steps get the quick checks), and what else a run needs.
struct OptimizeOptions : verifier::VerifyOptions {
  fs::path model;  // a .py task
  TaskOptions task;
  fs::path out;  // the program's folder
  Overwrite overwrite = Overwrite::refuse;
  GpuSpec gpu;  // for estimates, and the package's build target
  // A plan document (plan::to_json) to verify instead of the Planner's steps. Its numerics class is used.
  std::shared_ptr<const Json> plan;
  std::string plan_source;  // for errors: the file it was read from
  BrainNames brains;
  LlmOptions llm;  // for brains that are language models
  // Wraps the Planner; null: no wrapper.
  std::function<std::unique_ptr<Planner>(std::unique_ptr<Planner>)> around_planner;
  bool measured_ledger = false;  // the best program is also timed without each of its steps
  // For planning, building and judging: opening the model, and waiting for the GPU or other runs, is not
  // charged. The first program is finished whatever it takes.
  std::chrono::seconds budget{40};
  // The same for steps by language models, in addition; 0: they share it.
  std::chrono::seconds llm_budget{0};
  std::chrono::seconds deadline{0};  // wall time, after which the best program so far ships; 0: none
  int tries = 3;                     // per step, while the Coder has revisions
  int window = 4;                    // consecutive steps without a gain before replanning
  double pytorch_seconds = 0;        // a call of the best PyTorch, where `baselines` has none; 0: not known
  bool tune = true;   // tune settings on the GPU after the steps, with at most a third of the budget
  double memory = 1;  // how much of PyTorch's peak memory a program may take
  ShipWeights weights = ShipWeights::automatic;
  EventSink* events = nullptr;
  std::optional<Recording> recording;  // nothing: the run is not recorded
  Replay* replay = nullptr;            // of a resumed run: set by RecordedRun::attach
};

struct Optimized {
  Ledger ledger;
  verifier::Verdict verdict;  // of the shipped program, by every gate unless quick or stopped
  bool stopped = false;
  bool judged_fully = false;
  Published published;                  // the program's folder, and what happened to the user's files in it
  double seconds = 0;                   // wall time of the run
  double first_seconds = 0;             // until the first program had passed
  bool budget_extended = false;         // the budget was over before that
  double own_seconds = 0;               // the part that isn't builds, runs, the reference or language models
  double seconds_a_call = 0;            // measured or estimated: see Ledger::measured
  double floor = 0;                     // seconds a call
  double predicted_seconds = 0;         // per call, by the cost model
  std::shared_ptr<const Json> cost;     // measured regions beside the model's parts: plan::CostSample
  std::shared_ptr<const Json> regions;  // of the shipped program: name, technique, nodes, estimated seconds
  std::shared_ptr<const Json> sizes;    // of a plan for ranges of sizes: ranges, borders, estimates
  std::shared_ptr<const Json> llm;      // tokens, dollars, seconds by agent; null: no LLM was used
  std::shared_ptr<const Json> tuning;   // what the tuner tried, or why it didn't run
  std::shared_ptr<const Json> time;     // where the seconds went (time_spent.h)
  std::string run;                      // its id in the store; empty: not recorded
};

using Clock = std::chrono::steady_clock;

// Opens the task and runs the loop. An error only if there is no program to ship.
Result<Optimized> optimize(const OptimizeOptions& options);
// The same for an opened task and given brains. The budget starts at `begin`.
Result<Optimized> optimize(const Task& task, const plan::Context& context, Brains& brains,
                           const OptimizeOptions& options, Clock::time_point begin = Clock::now());

// The parts of a task that a standalone program folder needs.

// Adds the model's source with its imports, for model_new.py, and constants that no constructor creates.
Result<void> add_task(PackageContents& contents, const Task& task);

}  // namespace stitch::agents
