#include "base/machine/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/machine/time_account.h"

namespace stitch {

namespace {

// 0, or why not.
int lock(int descriptor, int how) {
  while (::flock(descriptor, how) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

Error cannot_lock(const std::string& name, int why) {
  return work_error("lock",
                    format("cannot lock {}: {}", (cache_folder() / name).string(), std::strerror(why)));
}

}  // namespace

Result<FileLock> FileLock::open(const std::string& name) {
  fs::path file = cache_folder() / name;
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return work_error("lock", format("cannot open {}: {}", file.string(), std::strerror(errno)),
                      "set STITCHCUDA_CACHE to a writable folder");
  return FileLock(descriptor);
}

Result<FileLock> FileLock::wait(const std::string& name, Kind kind) {
  STITCH_TRY(FileLock file, open(name));
  if (int why = lock(file.descriptor_, kind == Kind::alone ? LOCK_EX : LOCK_SH))
    return cannot_lock(name, why);
  return file;
}

Result<std::optional<FileLock>> FileLock::if_free(const std::string& name, Kind kind) {
  STITCH_TRY(FileLock file, open(name));
  const int why = lock(file.descriptor_, (kind == Kind::alone ? LOCK_EX : LOCK_SH) | LOCK_NB);
  if (why == EWOULDBLOCK) return std::optional<FileLock>();
  if (why) return cannot_lock(name, why);
  return std::optional<FileLock>(std::move(file));
}

// A note that can't be written or read is no trouble: the lock holds all the same.
void FileLock::note(std::string_view holder) const {
  if (::ftruncate(descriptor_, 0) != 0) return;
  [[maybe_unused]] const auto written = ::pwrite(descriptor_, holder.data(), holder.size(), 0);
}

std::string FileLock::noted(const std::string& name) {
  auto text = read_file(cache_folder() / name);
  return text && text->size() < 200 ? *std::move(text) : "";
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

namespace {
constexpr std::chrono::milliseconds between_looks{20};
}

Result<MachineShare> MachineShare::take(const std::string& name, int wanted, int all) {
  const SpentOn waiting("for a share of " + name, TimeAccount::Kind::waiting);
  // One at a time takes parts: two that each hold half of what they want would deadlock.
  STITCH_TRY(FileLock door, FileLock::wait(name + ".door"));
  MachineShare share;
  for (std::vector<bool> mine(static_cast<size_t>(all)); static_cast<int>(share.parts()) < wanted;) {
    for (int part = 0; part < all && static_cast<int>(share.parts()) < wanted; ++part) {
      if (mine[static_cast<size_t>(part)]) continue;
      STITCH_TRY(std::optional<FileLock> got, FileLock::if_free(format("{}.{}", name, part)));
      if (!got) continue;
      mine[static_cast<size_t>(part)] = true;
      share.locks_.push_back(*std::move(got));
    }
    if (static_cast<int>(share.parts()) < wanted) std::this_thread::sleep_for(between_looks);
  }
  return share;
}

}  // namespace stitch
