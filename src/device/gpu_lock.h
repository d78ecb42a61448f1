// Timing alone on the GPU: processes that prepare, check and compile side by side make room for the clock.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_lock.h"

namespace stitch::device {

class GpuLock {
 public:
  // Exclusive: waits until no stitchcuda process on this machine uses the GPU, and blocks new ones meanwhile.
  // The kernel gives a lock back when its holder dies.
  static Result<GpuLock> take();
  // Shared, for the duration of one request: a process that waits for exclusive use waits for all
  // of them. Nothing to wait for if this process has the GPU alone already.
  static Result<GpuLock> share();
  static bool is_held();   // by this process alone, or by this thread beside others
  static bool is_alone();  // by this process

  // For others who wait meanwhile: what this process is doing, such as "run 1116-kmtz".
  static void introduce(std::string who);
  // Told "waiting for the GPU (held by pid 4711, run 1116-kmtz)" whenever this process has to.
  static void when_waiting(std::function<void(std::string_view)> told);
  GpuLock(GpuLock&& other) noexcept
      : room_(std::move(other.room_)), visiting_(other.visiting_), since_(other.since_) {
    other.room_.reset();
    other.visiting_ = false;
  }
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

 private:
  GpuLock() = default;
  static Result<FileLock> enter(FileLock::Kind kind);
  static Result<bool> visits_still();
  static Result<FileLock> wait_for(const std::string& name, FileLock::Kind kind);
  std::optional<FileLock> room_;  // alone
  bool visiting_ = false;         // beside others; neither: this process has the GPU already
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Many requests of one thread after each other, such as a gate's: between two of them the GPU stays shared,
// so that not each has to wait for all who want it alone. They come in between once a visit is a second old.
class GpuVisit {
 public:
  GpuVisit();
  GpuVisit(const GpuVisit&) = delete;
  GpuVisit& operator=(const GpuVisit&) = delete;
  ~GpuVisit();
  // Before this thread does something else for long, or waits for what others hold who may wait for the GPU.
  static void step_out();
};

}  // namespace stitch::device
