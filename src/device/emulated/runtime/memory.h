// The device's memory: every allocation known, guarded on both sides, and poisoned when fresh.
#pragma once

#include <cstddef>
#include <string>

#include "stitch/host_types.h"

namespace stitch_emulated {

// What lies at an address; unregistered if no allocation, symbol or registered host memory does.
struct Range {
  void* start = nullptr;
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  bool fenced = false;
};
Range find_range(const void* pointer);

// What was written outside allocations; "" if nothing was.
std::string check_guards();
// For synchronisation points: a damaged guard is an illegal access, which breaks the device.
cudaError_t check_guards_at_sync();
void free_everything();
size_t free_memory();

}  // namespace stitch_emulated
