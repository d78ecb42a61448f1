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
  std::string model_class, python;
  std::vector<std::string> baselines;
  std::chrono::seconds budget{180};
  std::function<void(std::string_view)> on_progress;
};

struct Optimized {
  Ledger ledger;
  verifier::Verdict verdict;  // of what was shipped, through every gate
  double seconds = 0;
};

// An error only if there is no program at all to ship.
Result<Optimized> optimize(const OptimizeOptions& options);

}  // namespace stitch::agents
