// A cgroup v2 for one command and its descendants: the kernel caps their memory and threads. Works only where
// this user may create groups, e.g. below `systemd-run --user --scope`.
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

// The folder in which groups with both controllers can be created: this process's own group or its parent;
// empty if neither works. Tests pass a fake tree.
fs::path place_for_groups(const fs::path& membership = "/proc/self/cgroup",
                          const fs::path& root = "/sys/fs/cgroup");
// Creates a group with these limits and removes groups left empty by earlier runs.
Result<fs::path> make_group(const fs::path& place, const GroupLimits& limits);
// Moves this process, and all it starts from now on, into the group.
bool join_group(const fs::path& group);
// Whether the OOM killer ended a process in the group.
bool ran_out_of_memory(const fs::path& group);

}  // namespace stitch::sandbox
