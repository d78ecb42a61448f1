// One timing at a time: processes that prepare and compile side by side take turns on the clock.
#pragma once

#include <utility>

#include "base/result.h"

namespace stitch::device {

class GpuLock {
 public:
  // Waits for whoever holds it on this machine. The kernel gives it back when its holder dies.
  static Result<GpuLock> take();
  GpuLock(GpuLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

 private:
  explicit GpuLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace stitch::device
