// Timing alone on the GPU: processes that prepare, check and compile side by side make room for the clock.
#pragma once

#include <utility>

#include "base/result.h"

namespace stitch::device {

class GpuLock {
 public:
  // Alone: waits until nobody on this machine uses the GPU through us, and keeps newcomers out meanwhile. The
  // kernel gives a lock back when its holder dies.
  static Result<GpuLock> take();
  // Beside others who share it, for as long as one request takes: whoever waits for the clock waits for all
  // of them. Nothing to wait for if this process has the GPU already.
  static Result<GpuLock> share();
  GpuLock(GpuLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), counts_(other.counts_) {}
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

 private:
  explicit GpuLock(int descriptor) : descriptor_(descriptor) {}
  static Result<GpuLock> lock(const char* name, int how);
  static Result<GpuLock> enter(int how);
  int descriptor_;  // -1: none of its own
  bool counts_ = false;
};

}  // namespace stitch::device
