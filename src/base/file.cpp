#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/interrupt.h"

namespace stitch {

namespace {

Error system_error(std::string_view doing, const fs::path& path, int code) {
  Error error = work_error("file", format("cannot {}: {}", doing, std::strerror(code)));
  if (code == ENOENT || code == ENOTDIR || code == EISDIR || code == EACCES) error.blame = Error::Blame::user;
  if (code == ENOSPC || code == EDQUOT) {
    error.code = "disk";
    error.fix = "free some disk space and run it again; nothing was left half-written";
  }
  return at(path.string(), error);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  operator int() const { return fd_; }
  // close() can be where a full disk is reported.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

std::string unique_suffix() {
  static std::atomic<int> counter = 0;
  return format("{}.{}", ::getpid(), counter++);
}

// Drafts are named NAME.PID.N.draft: one whose process is gone was left by a kill.
void remove_stale_drafts(const fs::path& folder, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".draft")) continue;
    int pid = std::atoi(name.c_str() + prefix.size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return system_error("open", path, errno);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count == 0) return content;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path, errno);
    content.append(buffer, static_cast<size_t>(count));
  }
}

Result<void> write_file(const fs::path& path, std::string_view content) {
  fs::path draft = path;
  draft += format(".{}.draft", unique_suffix());
  auto fail = [&](std::string_view doing) {
    int code = errno;
    ::unlink(draft.c_str());
    return system_error(doing, path, code);
  };
  Descriptor fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd < 0) return system_error("create", path, errno);
  while (!content.empty()) {
    ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("write");
    content.remove_prefix(static_cast<size_t>(count));
  }
  if (fd.close() != 0) return fail("write");
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail("write");
  return {};
}

fs::path cache_folder() {
  auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (fs::path own = variable("STITCHCUDA_CACHE"); !own.empty()) return own;
  if (fs::path shared = variable("XDG_CACHE_HOME"); !shared.empty()) return shared / "stitchcuda";
  if (fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "stitchcuda";
  std::error_code ec;
  return fs::temp_directory_path(ec) / format("stitchcuda-{}", ::getuid());
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return system_error("open", path, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("read", path, errno);
  if (!S_ISREG(info.st_mode)) return system_error("read", path, EISDIR);
  MappedFile file;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ == 0) return file;
  void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return system_error("map", path, errno);
  file.data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<DraftFolder> DraftFolder::create(const fs::path& target, std::string_view replaceable) {
  DraftFolder folder;
  std::error_code ec;
  fs::path clean = fs::absolute(target, ec).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  bool there = fs::exists(clean, ec);
  bool empty_folder = there && fs::is_directory(clean, ec) && fs::is_empty(clean, ec);
  if (there && !empty_folder && !fs::exists(clean / replaceable, ec))
    return at(
        target.string(),
        user_error("exists", format("is there already and holds no {}, so it is not replaced", replaceable),
                   "name another folder, or remove this one"));
  fs::create_directories(clean.parent_path(), ec);
  if (ec) return system_error("create the folder", clean.parent_path(), ec.value());
  std::string prefix = format(".{}.", clean.filename().string());
  remove_stale_drafts(clean.parent_path(), prefix);
  folder.target_ = clean;
  folder.draft_ = clean.parent_path() / format("{}{}.draft", prefix, unique_suffix());
  fs::create_directory(folder.draft_, ec);
  if (ec) return system_error("create the folder", folder.draft_, ec.value());
  remove_if_interrupted(folder.draft_);
  return folder;
}

DraftFolder::DraftFolder(DraftFolder&& other) noexcept
    : target_(std::exchange(other.target_, {})), draft_(std::exchange(other.draft_, {})) {}

DraftFolder::~DraftFolder() {
  std::error_code ignored;
  if (draft_.empty()) return;
  fs::remove_all(draft_, ignored);
  keep_if_interrupted(draft_);
}

Result<void> DraftFolder::publish() {
  // A folder can't be renamed over a full one: the old one steps aside first.
  std::error_code ec;
  fs::path aside = draft_;
  aside.replace_extension(".old.draft");
  bool replaced = fs::exists(target_, ec);
  if (replaced) fs::rename(target_, aside, ec);
  if (!ec) fs::rename(draft_, target_, ec);
  if (ec) {
    std::error_code ignored;
    if (replaced && !fs::exists(target_, ignored)) fs::rename(aside, target_, ignored);
    return system_error("publish", target_, ec.value());
  }
  keep_if_interrupted(draft_);
  draft_.clear();
  if (replaced) fs::remove_all(aside, ec);
  return {};
}

Result<ScratchFolder> ScratchFolder::create_below(const fs::path& base, std::string_view prefix) {
  std::string pattern = (base / format("{}.XXXXXX", prefix)).string();
  if (!::mkdtemp(pattern.data())) return system_error("create a folder in", base, errno);
  ScratchFolder folder;
  folder.path_ = pattern;
  remove_if_interrupted(folder.path_);
  return folder;
}

Result<ScratchFolder> ScratchFolder::create(std::string_view prefix) {
  std::error_code ec;
  fs::path base = fs::temp_directory_path(ec);
  return create_below(ec ? "/tmp" : base, prefix);
}

namespace {

// prefix.PID.random, of processes that are gone.
void remove_orphans(const fs::path& base, std::string_view prefix) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(base, ec)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(format("{}.", prefix))) continue;
    int pid = std::atoi(name.c_str() + prefix.size() + 1);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ec);
  }
}

}  // namespace

Result<ScratchFolder> ScratchFolder::create_in_memory(std::string_view prefix) {
  fs::path memory = "/dev/shm";
  if (::access(memory.c_str(), W_OK) != 0) return create(prefix);
  remove_orphans(memory, prefix);
  return create_below(memory, format("{}.{}", prefix, ::getpid()));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (path_.empty()) return;
  fs::remove_all(path_, ignored);
  keep_if_interrupted(path_);
}

}  // namespace stitch
