// Device memory: all allocations registered, guarded on both sides, and poisoned when fresh.
#pragma once

#include <cstddef>
#include <string>

#include "stitch/host_types.h"

namespace stitch_emulated {

// The allocation, symbol or registered host memory at an address; otherwise unregistered.
struct Range {
  void* start = nullptr;
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  bool fenced = false;
};
Range find_range(const void* pointer);

// Out-of-bounds writes found; "" if none.
std::string check_guards();
// At synchronisation points: a damaged guard is an illegal access, a sticky error.
cudaError_t check_guards_at_sync();
void free_everything();
size_t free_memory();

}  // namespace stitch_emulated
