// A program's device memory, allocated once at create: packed weights and intermediates. The program fixes
// all offsets; values with disjoint lifetimes may share memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stitch/runtime/errors.h"

namespace stitch {
class Arena {
 public:
  static constexpr size_t alignment = 256;  // of cudaMalloc; no library needs more

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (memory_) (void)cudaFree(memory_);
  }

  StitchStatus allocate(size_t bytes) {
    STITCH_CUDA(cudaMalloc(&memory_, bytes > 0 ? bytes : 1));
    bytes_ = bytes;
    return STITCH_OK;
  }

  // `count` elements at `offset` bytes. Checked here, at create.
  template <class T>
  StitchStatus place(const char* name, size_t offset, size_t count, T** out) const {
    if (offset % alignment != 0)
      return fail(STITCH_DEVICE_ERROR, "arena: '%s' at offset %zu, which is no multiple of %zu", name, offset,
                  alignment);
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T))
      return fail(STITCH_DEVICE_ERROR,
                  "arena: '%s' (%zu elements of %zu bytes at offset %zu) exceeds %zu bytes", name, count,
                  sizeof(T), offset, bytes_);
    *out = reinterpret_cast<T*>(static_cast<char*>(memory_) + offset);
    return STITCH_OK;
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

// `bytes` rounded up to the arena's alignment, for offset tables.
constexpr size_t arena_size(size_t bytes) {
  return (bytes + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
}

// Copies a caller's weight to the program's memory.
template <class T>
StitchStatus copy_weight(T* to, const StitchTensor& from, size_t count) {
  STITCH_CUDA(cudaMemcpyAsync(to, from.data, count * sizeof(T), cudaMemcpyDeviceToDevice, nullptr));
  return STITCH_OK;
}

// Scratch device memory for library algorithms. It grows during create: what algorithms need is known only
// once they are chosen.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    if (memory_) (void)cudaFree(memory_);
  }

  StitchStatus reserve(size_t bytes) {
    if (bytes <= bytes_) return STITCH_OK;
    if (memory_) STITCH_CUDA(cudaFree(memory_));
    memory_ = nullptr;
    bytes_ = 0;
    STITCH_CUDA(cudaMalloc(&memory_, bytes));
    bytes_ = bytes;
    return STITCH_OK;
  }

  void* data() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace stitch
