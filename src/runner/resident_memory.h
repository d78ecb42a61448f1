// How much memory a process has, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace stitch::runner {

// Anonymous and shared memory of the process and of those it started; 0 if it is gone. Files that are mapped
// don't count.
int64_t resident_bytes(pid_t pid);
// Of the machine.
int64_t physical_memory();

}  // namespace stitch::runner
