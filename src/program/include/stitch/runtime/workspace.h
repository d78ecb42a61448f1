// Scratch device memory for library algorithms. It grows during create: what algorithms need is known only
// once they are chosen.
#pragma once

#include <cstddef>

#include "stitch/runtime/errors.h"

namespace stitch {
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
