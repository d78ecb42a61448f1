// Processes that held a candidate, are sound and can hold another: each thread has its own, since a process
// dies with the thread that started it.
#pragma once

#include <optional>
#include <thread>

#include "base/file.h"
#include "runner/candidate.h"
#include "runner/process.h"

namespace stitch::runner {

struct SpareProcess {
  ScratchFolder scratch;
  Process process;
  std::thread::id thread = std::this_thread::get_id();
  int programs = 0;  // it has held so far
};

// Compiled programs without a tool or a sanitizer around them, where options.shared_process is said.
bool can_be_spared(const Options& options);
bool belongs_here(const SpareProcess& process);
// For the next candidate of this thread with such options; ended instead where it has held enough, or where
// the thread has enough of them.
void keep_spare(const Options& options, SpareProcess&& process);
std::optional<SpareProcess> take_spare(const Options& options);

}  // namespace stitch::runner
