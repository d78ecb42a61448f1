// How much memory and disk there is for us, so that what can't fit is refused before it is tried.
#pragma once

#include <cstdint>

#include "base/file.h"

namespace stitch {

struct MachineMemory {
  int64_t total = 0;      // of the machine, or what its container may have
  int64_t available = 0;  // now
};
// Zeros where the system doesn't say.
MachineMemory machine_memory();

// An error if the file system of `folder`, or of the nearest one above it that exists, has less than this.
Result<void> check_free_space(const fs::path& folder, int64_t least);

}  // namespace stitch
