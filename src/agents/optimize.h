// The loop with the built-in engine: plan, code, verify, keep what is better, ship the best.
#pragma once

#include <functional>
#include <string>

#include "agents/ledger.h"
#include "device/gpu_spec.h"
#include "verify/verify.h"

namespace stitch::agents {

struct OptimizeOptions {
  fs::path model;  // a .py task
  fs::path out;    // the program's folder
  verifier::Numerics numerics = verifier::Numerics::standard;
  runner::Device device = runner::Device::emulated;
  GpuSpec gpu;  // for estimates
  TaskOptions task;
  std::vector<std::string> baselines;
  std::chrono::seconds budget{180};
  // The whole plan first, and steps dropped while it fails: the best program soonest. Otherwise step by step.
  bool direct = false;
  bool first = false;  // of --direct: the first program that passes ships, nothing is tried to better it
  bool tune = true;    // settings tried on the GPU after the steps, with at most a third of the budget
  bool quick = false;  // what ships is judged as the steps are, not by every gate
  bool timing = true;  // else only judged, and estimates decide
  std::function<bool()> should_stop;  // then the best so far ships as it is
  std::function<void(std::string_view)> on_progress;
};

struct Optimized {
  Ledger ledger;
  verifier::Verdict verdict;  // of what was shipped, through every gate unless quick or stopped
  bool stopped = false;
  double seconds = 0;                   // that all of it took us
  double seconds_a_call = 0;            // measured, or estimated: as the ledger says
  double floor = 0;                     // seconds a call
  std::shared_ptr<const Json> regions;  // of what was shipped: name, technique, nodes, estimated seconds
  std::shared_ptr<const Json> plain_profile;  // of the plain program, as the profile gate saw it
  std::shared_ptr<const Json> tuning;         // what the tuner tried, or why it did not
};

// An error only if there is no program at all to ship.
Result<Optimized> optimize(const OptimizeOptions& options);

}  // namespace stitch::agents
