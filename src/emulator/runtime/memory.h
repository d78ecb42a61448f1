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

// Whether it points into memory that the process has and the device doesn't.
bool is_only_hosts(const void* pointer);

// While host code runs, fenced memory may be closed to it (stitch_emulated_close_to_host); kernels, copies
// and library calls open it.
class DeviceAtWork {
 public:
  DeviceAtWork();
  DeviceAtWork(const DeviceAtWork&) = delete;
  DeviceAtWork& operator=(const DeviceAtWork&) = delete;
  ~DeviceAtWork();
};

// Out-of-bounds writes found; "" if none.
std::string check_guards();
// At synchronisation points: a damaged guard is an illegal access, a sticky error.
cudaError_t check_guards_at_sync();
[[gnu::visibility("hidden")]] void free_everything();
size_t free_memory();

}  // namespace stitch_emulated
