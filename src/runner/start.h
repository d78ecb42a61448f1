// Which process holds a candidate, and behind which walls.
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

// What a Python candidate's process is, before any wall.
Command python_candidate_command(const fs::path& python);

Result<Started> start_process(const Options& options, const fs::path& scratch);

}  // namespace stitch::runner
