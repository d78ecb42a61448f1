#include "base/machine/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"

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

}  // namespace stitch
