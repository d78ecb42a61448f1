// The driver API's functions, resolved from libcuda.so.1 before a candidate is loaded. Declared here, since a
// machine without CUDA has no cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace stitch::runner {

struct CudaDriver {
  using Status = int;
  using Device = int;
  using Handle = void*;  // contexts, streams, events, graphs
  struct Access {        // CUmemAccessDesc
    int location_type, location_id, flags;
  };

  Status (*init)(unsigned) = nullptr;
  Status (*device_get)(Device*, int) = nullptr;
  Status (*device_name)(char*, int, Device) = nullptr;
  Status (*primary_retain)(Handle*, Device) = nullptr;
  Status (*set_current)(Handle) = nullptr;
  Status (*synchronise)() = nullptr;
  Status (*set_limit)(int, size_t) = nullptr;
  Status (*reset_persisting_cache)() = nullptr;
  Status (*memory_info)(size_t*, size_t*) = nullptr;
  Status (*allocate)(uint64_t*, size_t) = nullptr;
  Status (*free)(uint64_t) = nullptr;
  Status (*to_device)(uint64_t, const void*, size_t) = nullptr;
  Status (*to_host)(void*, uint64_t, size_t) = nullptr;
  Status (*on_device)(uint64_t, uint64_t, size_t) = nullptr;
  Status (*on_device_in_order)(uint64_t, uint64_t, size_t, Handle) = nullptr;
  Status (*allocate_on_host)(void**, size_t, unsigned) = nullptr;
  Status (*fill_words)(uint64_t, unsigned, size_t) = nullptr;
  Status (*import_memory)(uint64_t*, void*, int) = nullptr;
  Status (*release_memory)(uint64_t) = nullptr;
  Status (*reserve_addresses)(uint64_t*, size_t, size_t, uint64_t, unsigned long long) = nullptr;
  Status (*free_addresses)(uint64_t, size_t) = nullptr;
  Status (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long) = nullptr;
  Status (*unmap)(uint64_t, size_t) = nullptr;
  Status (*set_access)(uint64_t, size_t, const Access*, size_t) = nullptr;
  Status (*stream_create)(Handle*, unsigned) = nullptr;
  Status (*launch_host_function)(Handle, void (*)(void*), void*) = nullptr;
  Status (*begin_capture)(Handle, int) = nullptr;
  Status (*end_capture)(Handle, Handle*) = nullptr;
  Status (*instantiate)(Handle*, Handle, unsigned long long) = nullptr;
  Status (*launch_graph)(Handle, Handle) = nullptr;
  Status (*destroy_instance)(Handle) = nullptr;
  Status (*destroy_graph)(Handle) = nullptr;
  Status (*event_create)(Handle*, unsigned) = nullptr;
  Status (*event_record)(Handle, Handle) = nullptr;
  Status (*event_elapsed)(float*, Handle, Handle) = nullptr;
  Status (*profiler_start)() = nullptr;
  Status (*profiler_stop)() = nullptr;
  Status (*error_name)(Status, const char**) = nullptr;
  Status (*error_text)(Status, const char**) = nullptr;

  static Result<CudaDriver> load();
  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string words_for(Status status) const;
};

}  // namespace stitch::runner
