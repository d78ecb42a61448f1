#include "base/machine_share.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/file.h"

namespace stitch {

namespace {

constexpr std::chrono::milliseconds between_looks{20};

// The locked file, or -1 if somebody else has it and `how` doesn't wait.
Result<int> lock(const std::string& name, int how) {
  fs::path file = cache_folder() / name;
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return work_error("lock", format("cannot open {}: {}", file.string(), std::strerror(errno)),
                      "set STITCHCUDA_CACHE to a folder that can be written");
  while (::flock(descriptor, how) != 0) {
    if (errno == EINTR) continue;
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

MachineShare::~MachineShare() {
  for (int descriptor : descriptors_) ::close(descriptor);
}

Result<MachineShare> MachineShare::take(const std::string& name, int wanted, int all) {
  // One at a time takes parts: two that have half of what they want would wait for ever.
  STITCH_TRY(int door, lock(name + ".door", LOCK_EX));
  MachineShare behind_the_door({door}), share({});
  for (std::vector<bool> mine(static_cast<size_t>(all)); static_cast<int>(share.parts()) < wanted;) {
    for (int part = 0; part < all && static_cast<int>(share.parts()) < wanted; ++part) {
      if (mine[static_cast<size_t>(part)]) continue;
      STITCH_TRY(int descriptor, lock(format("{}.{}", name, part), LOCK_EX | LOCK_NB));
      if (descriptor < 0) continue;
      mine[static_cast<size_t>(part)] = true;
      share.descriptors_.push_back(descriptor);
    }
    if (static_cast<int>(share.parts()) < wanted) std::this_thread::sleep_for(between_looks);
  }
  return share;
}

}  // namespace stitch
