// What a process and those it started take of the machine, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/file.h"

namespace stitch::runner {

struct Usage {
  int64_t memory = 0;  // anonymous and shared; files that are mapped don't count
  int processes = 0, threads = 0;
};
// Nothing of one that is gone. Of processes that other threads than the first started only with `thorough`,
// which takes longer: somebody may be timing.
Usage usage_of(pid_t pid, bool thorough);
// Nanoseconds of CPU time that all threads of it and of the processes it started have had.
int64_t cpu_time_of(pid_t pid);
// Seconds that its threads and those of all processes it started were ready and had no core, so far. Threads
// that ended don't count; 0 where the kernel doesn't count it.
double waited_for_cores(pid_t pid);
// On disk below a folder, with files that these processes hold open there and that have no name any more.
int64_t disk_bytes(const fs::path& folder, pid_t pid);
// Of the machine.
int64_t physical_memory();

}  // namespace stitch::runner
