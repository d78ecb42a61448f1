// Which process holds a candidate, in which sandbox.
#pragma once

#include "runner/candidate.h"
#include "runner/process.h"

namespace stitch::runner {

struct Started {
  Process process;
  fs::path runtime;  // the emulated GPU's library; empty for cuda
};

// The executable of the child.
Result<fs::path> find_runner();

// The unconfined command of a Python candidate.
Command python_candidate_command(const fs::path& python);

Result<Started> start_process(const Options& options, const fs::path& scratch);

}  // namespace stitch::runner
