#include "device/gpu_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace stitch::device {

Result<GpuLock> GpuLock::lock(const char* name, int how) {
  fs::path file = cache_folder() / name;
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return work_error("lock", format("cannot open {}: {}", file.string(), std::strerror(errno)),
                      "set STITCHCUDA_CACHE to a folder that can be written");
  GpuLock lock(descriptor);
  while (::flock(descriptor, how) != 0)
    if (errno != EINTR)
      return work_error("lock", format("cannot lock {}: {}", file.string(), std::strerror(errno)));
  return lock;
}

namespace {
std::atomic<int> held = 0;  // by this process
}

// Through a door that whoever waits for the room holds shut: a stream of sharers can't keep it out for ever.
Result<GpuLock> GpuLock::enter(int how) {
  STITCH_TRY(GpuLock door, lock("gpu.door", LOCK_EX));
  STITCH_TRY(GpuLock room, lock("gpu.lock", how));
  ++held;
  room.counts_ = true;
  return room;
}

Result<GpuLock> GpuLock::take() { return enter(LOCK_EX); }
Result<GpuLock> GpuLock::share() { return held > 0 ? GpuLock(-1) : enter(LOCK_SH); }

GpuLock::~GpuLock() {
  if (descriptor_ < 0) return;
  if (counts_) --held;
  ::close(descriptor_);
}

}  // namespace stitch::device
