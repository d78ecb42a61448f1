#include "device/gpu_lock.h"

#include <atomic>

namespace stitch::device {

namespace {
std::atomic<int> held = 0;  // by this process
}

// Through a door that whoever waits for the room holds shut: a stream of sharers can't keep it out for ever.
Result<GpuLock> GpuLock::enter(FileLock::Kind kind) {
  STITCH_TRY(FileLock door, FileLock::wait("gpu.door"));
  STITCH_TRY(FileLock room, FileLock::wait("gpu.lock", kind));
  ++held;
  return GpuLock(std::move(room));
}

Result<GpuLock> GpuLock::take() { return enter(FileLock::Kind::alone); }
Result<GpuLock> GpuLock::share() {
  return held > 0 ? GpuLock(std::nullopt) : enter(FileLock::Kind::beside_others);
}

bool GpuLock::is_held() { return held > 0; }

GpuLock::~GpuLock() {
  if (room_) --held;
}

}  // namespace stitch::device
