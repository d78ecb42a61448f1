// A control group (cgroup v2) for one command and all that it starts: the kernel itself caps their memory and
// their threads. Only where this user may divide a group, as below `systemd-run --user --scope`.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::sandbox {

struct GroupLimits {
  int64_t memory = 0;  // bytes; 0: none
  int threads = 0;     // of all processes; 0: none
};

// The folder in which groups with both controllers can be made: this process's own, or the one around it.
// Empty: there is none. Tests have a tree of their own.
fs::path place_for_groups(const fs::path& membership = "/proc/self/cgroup",
                          const fs::path& root = "/sys/fs/cgroup");
// A new one, with these limits. Those that nobody is in any more are removed first.
Result<fs::path> make_group(const fs::path& place, const GroupLimits& limits);
// This process, and what it becomes and starts, from now on.
bool join_group(const fs::path& group);
// Whether the kernel ended somebody in it for memory.
bool ran_out_of_memory(const fs::path& group);

}  // namespace stitch::sandbox
