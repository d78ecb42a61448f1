// Processes that held a candidate, are sound and can hold another of the same thread.
#pragma once

#include <optional>

#include "base/file.h"
#include "runner/candidate.h"
#include "runner/process.h"

namespace stitch::runner {

struct SpareProcess {
  ScratchFolder scratch;
  Process process;
  int programs = 0;  // it has held so far
};

// Compiled programs without a tool or a sanitizer around them, where options.shared_process is said.
bool can_be_spared(const Options& options);
// For the next candidate of this thread with such options; ended instead where it has held enough, or where
// the thread has enough of them.
void keep_spare(const Options& options, SpareProcess&& process);
std::optional<SpareProcess> take_spare(const Options& options);

}  // namespace stitch::runner
