// Resources used by a process and its descendants, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/file.h"

namespace stitch::runner {

struct Usage {
  int64_t memory = 0;  // anonymous and shared, without mapped files
  int processes = 0, threads = 0;
};
// Zero if it has ended. Descendants started by threads other than the first count only with `thorough`, which
// takes longer and could disturb a timing.
Usage usage_of(pid_t pid, bool thorough);
// CPU time in ns of all threads of it and its descendants.
int64_t cpu_time_of(pid_t pid);
// Seconds that its threads and those of its descendants were runnable without a core. Threads that have ended
// don't count; 0 where the kernel has no such statistics.
double waited_for_cores(pid_t pid);
// On disk below a folder, including unlinked files that these processes hold open there.
int64_t disk_bytes(const fs::path& folder, pid_t pid);
int64_t physical_memory();

}  // namespace stitch::runner
