// The loop: plan, code, verify, keep what is better, ship the best.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "agents/brains.h"
#include "agents/events.h"
#include "agents/ledger.h"
#include "agents/llm_session.h"
#include "base/json.h"
#include "base/output_folder.h"

namespace stitch::agents {

class Replay;

// Where a run is written down.
struct Recording {
  fs::path store;
  std::string resume;   // a run that goes on; empty: a new one
  std::string options;  // JSON, for whoever starts it again
  std::string version;  // of stitchcuda
  bool memory = true;   // the plan starts from what earlier runs came to
};

struct OptimizeOptions {
  fs::path model;  // a .py task
  TaskOptions task;
  fs::path out;  // the program's folder
  Overwrite overwrite = Overwrite::refuse;
  Numerics numerics = Numerics::standard;
  runner::Device device = runner::Device::emulated;
  GpuSpec gpu;  // for estimates, and what the package builds for
  // Judged as it stands, in place of the Planner's steps: plan::to_json's document. Its class counts.
  std::shared_ptr<const Json> plan;
  std::string plan_source;  // for errors: the file it was read from
  std::vector<std::string> baselines;
  BrainNames brains;
  LlmOptions llm;  // for those that are language models
  // Around the Planner that the brains' names give; null: that one as it is.
  std::function<std::unique_ptr<Planner>(std::unique_ptr<Planner>)> around_planner;
  Strategy strategy = Strategy::step_by_step;
  std::chrono::seconds budget{180};
  int tries = 3;              // of a step, as long as the Coder knows something else
  int window = 4;             // steps in a row without a gain, then the Planner is asked for another list
  double target_seconds = 0;  // a call: good enough; 0: as fast as it gets
  bool tune = true;           // settings tried on the GPU after the steps, with at most a third of the budget
  bool quick = false;         // what ships is judged as the steps are, not by every gate
  bool timing = true;         // else only judged, and estimates decide
  // Results as KernelBench's own evaluator wants them: rounded where PyTorch rounds, within its allclose.
  bool kernelbench_compatible = false;
  ShipWeights weights = ShipWeights::automatic;
  std::function<bool()> should_stop;  // then the best so far ships as it is
  EventSink* events = nullptr;
  std::optional<Recording> recording;  // nothing: the run is not kept
  Replay* replay = nullptr;            // of a run that goes on: set by whoever opened its record
};

struct Optimized {
  Ledger ledger;
  verifier::Verdict verdict;  // of what was shipped, through every gate unless quick or stopped
  bool stopped = false;
  bool judged_fully = false;
  Published published;               // where the program is, and what became of files that others had there
  double seconds = 0;                // that all of it took us
  double own_seconds = 0;            // of them, without builds, runs, the reference and language models
  double seconds_a_call = 0;         // measured, or estimated: as the ledger says
  double floor = 0;                  // seconds a call
  double predicted_seconds = 0;      // a call, by the cost model
  std::shared_ptr<const Json> cost;  // measured regions beside the model's parts: plan::CostSample
  std::shared_ptr<const Json> regions;  // of what was shipped: name, technique, nodes, estimated seconds
  std::shared_ptr<const Json> plain_profile;  // of the first program, as the profile gate saw it
  std::shared_ptr<const Json> llm;            // tokens, dollars, seconds by agent; null: nobody was asked
  std::shared_ptr<const Json> tuning;         // what the tuner tried, or why it did not
  std::shared_ptr<const Json> time;           // where the seconds went (time_spent.h)
  std::string run;                            // its id in the store; empty: it is not kept
};

using Clock = std::chrono::steady_clock;

// Opens the task and puts the brains to work. An error only if there is no program at all to ship.
Result<Optimized> optimize(const OptimizeOptions& options);
// The same of a task that is open, with brains that are there. The budget counts from `begin`.
Result<Optimized> optimize(const Task& task, const plan::Context& context, Brains& brains,
                           const OptimizeOptions& options, Clock::time_point begin = Clock::now());

}  // namespace stitch::agents
