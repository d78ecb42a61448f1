// Timing alone on the GPU: processes that prepare, check and compile side by side make room for the clock.
#pragma once

#include <optional>
#include <utility>

#include "base/file_lock.h"

namespace stitch::device {

class GpuLock {
 public:
  // Alone: waits until nobody on this machine uses the GPU through us, and keeps newcomers out meanwhile. The
  // kernel gives a lock back when its holder dies.
  static Result<GpuLock> take();
  // Beside others who share it, for as long as one request takes: whoever waits for the clock waits for all
  // of them. Nothing to wait for if this process has the GPU already.
  static Result<GpuLock> share();
  static bool is_held();  // by this process, alone or beside others
  GpuLock(GpuLock&& other) noexcept : room_(std::move(other.room_)) { other.room_.reset(); }
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

 private:
  explicit GpuLock(std::optional<FileLock> room) : room_(std::move(room)) {}
  static Result<GpuLock> enter(FileLock::Kind kind);
  std::optional<FileLock> room_;  // none of its own: this process has the GPU already
};

}  // namespace stitch::device
