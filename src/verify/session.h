// One verification: what every gate sees, and what earlier gates leave for later ones.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/build.h"
#include "gpu/gpu_spec.h"
#include "graph/instances.h"
#include "program/manifest.h"
#include "program/package.h"
#include "reference/gpu_share.h"
#include "reference/numerics.h"
#include "reference/open_reference.h"
#include "reference/reference.h"
#include "reference/timing.h"
#include "reference/trial.h"
#include "runner/candidate.h"
#include "verify/verdict.h"

namespace stitch::verifier {

class Adequacy;
class Attempt;
class BaselineProcess;
class RegionQuestionsAhead;
class TorchReference;

struct VerifyOptions {
  fs::path program;  // a program folder, a .cu file, or a .py file with ModelNew
  Numerics numerics = Numerics::standard;
  runner::Device device = runner::Device::emulated;
  std::vector<std::string> baselines;
  bool fresh_baselines = false;  // measured again although the cache has them
  // PyTorch compiles them, and answers questions, while the program is built, whether or not it will be
  // right.
  bool baselines_ahead = false;
  bool sanitizer = false;  // compute-sanitizer's three tools
  bool address_sanitizer = false;
  bool line_info = true;        // cuda: compiled for profiles that name source lines
  bool quick = false;           // two seeds, one distribution, no second weights: for inner loops
  bool build_only = false;      // and screened, no further
  bool shared_process = false;  // with others before and after it (runner::Options): for quick looks
  bool timing = true;
  // The graph whose nodes the program names, where the task is another instance of it: at sizes of one a
  // graph may have another form, and regions can't be asked alone.
  const Graph* form = nullptr;
  bool other_sizes = true;  // of a program or a task for ranges: judge it at some that are not the task's own
  bool profile = true;      // the gate of that name: one more process; off where only a verdict is wanted
  // The gate of times on the emulated GPU too, whose times are not told: for tests of the gate.
  bool rehearse_timing = false;
  bool kernelbench_compatible = false;                  // KernelBench's own evaluator has to accept it, too
  std::optional<uint64_t> seed;                         // of everything that is drawn; secret unless given
  fs::path receipt;                                     // written here if everything passed; empty: nowhere
  std::chrono::milliseconds time_limit{60'000};         // for one request to the candidate
  std::chrono::milliseconds build_time_limit{300'000};  // for the compiler
  std::chrono::milliseconds reference_time_limit{1'800'000};  // for one answer of PyTorch's
  // Answers of the reference are kept for the next program: with the same `seed` it is asked the same
  // questions.
  bool remember_trials = false;
  // Then one question more, and those of timed calls, are new for each program: what a program was asked may
  // be told to the next one by its author.
  bool ask_unseen = true;
  int64_t memory_limit = 0;            // of the candidate's host memory; 0: half of the machine's
  int64_t hold_above = largest_moved;  // bytes of a trial: larger ones stay with PyTorch
  // Bytes of inputs and outputs, or operations of a call: above, fewer trials and repetitions.
  int64_t few_above = int64_t{1} << 30;
  double few_above_flops = 1e12;
  bool more_to_come = false;  // another program will be judged next: a process for it starts ahead
  std::function<void(std::string_view)> on_progress;
  std::function<void(std::string_view)> on_warning;  // about the task, once it is imported
  std::function<void(std::string_view)> on_notice;   // worth a line that stays
  std::function<bool()> should_stop;  // asked before each gate; then judge() is an Error of code "stopped"
};

struct Session {
  Session(const VerifyOptions& verify_options, const TaskGraph& task_graph, Reference& reference_of_task,
          runner::Arena& shared)
      : options(verify_options), task(task_graph), reference(reference_of_task), arena(shared) {}

  const VerifyOptions& options;
  const TaskGraph& task;
  Reference& reference;
  runner::Arena& arena;
  TorchReference* torch = nullptr;
  BaselineProcess* baseline_process = nullptr;  // null: `torch` prepares and times the baselines, too
  uint64_t seed = 0;
  std::vector<Question> questions;  // that correctness will ask, where they are asked ahead
  std::shared_ptr<RegionQuestionsAhead> region_questions;  // likewise, of regions alone

  bool has_the_form() const {
    return !options.form || bool(check_same_form({{}, *options.form}, {{}, task.graph}));
  }

  // What earlier gates leave.
  Package package;
  bool python = false;        // a ModelNew: less trust
  bool takes_weights = true;  // false: it has no place for other weights than the task's
  runner::Settings settings;  // that the program is created with, where they aren't its own
  build::Built built;
  fs::path library;  // what the runner loads
  Manifest manifest;
  std::map<std::string, int64_t> libraries;  // versions of those that it is linked to
  std::optional<runner::Candidate> loaded;   // for the first gate that asks it
  std::shared_ptr<Attempt> attempt;          // has answered, and can go on
  std::optional<std::string> no_profiler;    // why there is none; empty: there is one
  std::vector<Trial> trials;                 // asked so far, with the task's own weights
  std::vector<Trial> others;                 // asked too: reparameterised weights, harsh kinds of inputs
  bool weak = false;                         // the end-to-end check proves little
  std::shared_ptr<Adequacy> adequacy;        // what the trials so far tell apart; null: not measured
  std::vector<bool> proved;                  // of outputs: whether a trial could have shown a mistake
  std::string unproven;       // what could be handed in without computing, whatever was asked; empty: nothing
  bool deterministic = true;  // equal runs gave equal bytes
  std::vector<runner::Activity> activities;
  std::map<std::string, Result<Samples>> prepared;  // baselines that were made ready ahead, by kind
  std::vector<Samples> baselines;
  Samples own;
  std::vector<std::string> notes;
  std::optional<GpuSpec> gpu;
  std::optional<MachineShare> share;  // of the GPU's memory, where much is needed

  uint64_t next_seed();    // a fresh secret
  uint64_t unseen_seed();  // one that no other program was asked with, though they share `seed`
  // A ModelNew whose random numbers are PyTorch's.
  bool draws_pytorchs_numbers() const { return python && is_random(task.signature); }
  // Many elements see in one trial what few see in several, and gigabytes take their time.
  bool large() const;
  void progress(std::string_view text) const {
    if (options.on_progress) options.on_progress(text);
  }

 private:
  uint64_t drawn_ = 0;
};

// The candidate did something wrong. Our own trouble is a work error, and ends the verification instead.
inline Error found(std::string code, std::string reason) {
  return user_error(std::move(code), std::move(reason));
}

struct Passed {
  std::string summary;
  bool skipped = false;
};
inline Passed skipped(std::string why) { return {std::move(why), true}; }

struct Gate {
  GateId id;
  std::string_view name;
  std::string_view why;  // what it is for, and why it stands here
  Result<Passed> (*run)(Session& session, Json& evidence);
};

}  // namespace stitch::verifier
