// Exclusive use of the GPU for timing, among processes that share it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/machine/file_lock.h"

namespace stitch {

class GpuLock {
 public:
  // Exclusive: waits until no stitchcuda process on this machine uses the GPU, and blocks new ones meanwhile.
  // The kernel gives a lock back when its holder dies.
  static Result<GpuLock> take();
  // Shared, for one request; exclusive users wait for all of them. Returns at once if this process has
  // exclusive use.
  static Result<GpuLock> share();
  static bool is_held();   // exclusively by this process, or shared by this thread
  static bool is_alone();  // exclusively by this process

  // What this process is doing, shown to waiting processes: "run 1116-kmtz".
  static void introduce(std::string who);
  // Called with "waiting for the GPU (held by pid 4711, run 1116-kmtz)" when this process has to wait.
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
  std::optional<FileLock> room_;  // exclusive
  bool visiting_ = false;         // shared; neither: this process has exclusive use
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Keeps the GPU shared between consecutive requests of one thread, such as a gate's, so that not every
// request waits for exclusive users. They get their turn once a visit is a second old.
class GpuVisit {
 public:
  GpuVisit();
  GpuVisit(const GpuVisit&) = delete;
  GpuVisit& operator=(const GpuVisit&) = delete;
  ~GpuVisit();
  // Call before long host work, or before blocking on anything whose holder may be waiting for the GPU
  // (deadlock).
  static void step_out();
};

}  // namespace stitch
