// Processes that have held a candidate and can hold another of the same thread.
#pragma once

#include <optional>

#include "base/file.h"
#include "runner/candidate.h"
#include "runner/process.h"

namespace stitch::runner {

struct SpareProcess {
  ScratchFolder scratch;
  Process process;
  int programs = 0;  // held so far
};

// Compiled programs without tool or sanitizer, with options.shared_process.
bool can_be_spared(const Options& options);
// Keeps it for the thread's next candidate with the same options, or ends it if it has held enough or the
// thread has enough of them.
void keep_spare(const Options& options, SpareProcess&& process);
std::optional<SpareProcess> take_spare(const Options& options);

}  // namespace stitch::runner
