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
#include <mutex>
#include <sstream>
#include <utility>

#include "base/error_codes.h"
#include "base/machine/interrupt.h"

namespace stitch {

namespace {

constexpr const char* memory_folder = "/dev/shm";

Error system_error(std::string_view doing, const fs::path& path, int code) {
  Error error = work_error("file", format("cannot {}: {}", doing, std::strerror(code)));
  if (code == ENOENT || code == ENOTDIR || code == EISDIR || code == EACCES) error.blame = Error::Blame::user;
  if (code == ENOSPC || code == EDQUOT) {
    error.code = error_code::disk;
    error.fix = "free some disk space and run it again; nothing was left half-written";
  }
  return at(path.string(), error);
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
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

// Drafts are named .NAME.PID.N.draft: one whose process is gone was left by a kill, and .old is what it was
// about to replace.
void tidy_up_drafts(const fs::path& target, const std::string& prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(target.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    const bool draft = name.ends_with(".draft"), old = name.ends_with(".old");
    if (!name.starts_with(prefix) || (!draft && !old)) continue;
    int pid = std::atoi(name.c_str() + prefix.size());
    if (pid <= 0 || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    if (old && !fs::exists(target, ignored))
      fs::rename(entry.path(), target, ignored);
    else
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  OpenFile fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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
  OpenFile fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
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

std::error_code try_writing_below(const fs::path& folder) {
  std::error_code ec;
  fs::path there = fs::absolute(folder, ec).lexically_normal();
  while (!fs::exists(there, ec) && there.has_relative_path()) there = there.parent_path();
  std::string trial = (there / ".stitchcuda.XXXXXX").string();
  if (!::mkdtemp(trial.data())) return {errno, std::generic_category()};
  ::rmdir(trial.c_str());
  return {};
}

fs::path with_real_parent(const fs::path& path) {
  std::error_code ec;
  const fs::path whole = fs::absolute(path, ec);
  return fs::weakly_canonical(whole.parent_path(), ec) / whole.filename();
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  OpenFile fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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

Result<fs::path> make_draft_beside(const fs::path& target) {
  std::error_code ec;
  fs::create_directories(target.parent_path(), ec);
  if (ec) return system_error("create the folder", target.parent_path(), ec.value());
  const std::string prefix = format(".{}.", target.filename().string());
  tidy_up_drafts(target, prefix);
  fs::path draft = target.parent_path() / format("{}{}.draft", prefix, unique_suffix());
  fs::create_directory(draft, ec);
  if (ec) return system_error("create the folder", draft, ec.value());
  remove_if_interrupted(draft);
  return draft;
}

namespace {

// When a process started, in the kernel's ticks; empty if there is none.
std::string start_of(const std::string& pid) {
  auto text = read_file(fs::path("/proc") / pid / "stat");
  // Behind the name in parentheses, which may hold anything, the twentieth word is field 22.
  size_t name = text ? text->rfind(')') : std::string::npos;
  if (name == std::string::npos) return "";
  std::istringstream words(text->substr(name + 1));
  std::string word;
  for (int i = 0; i < 20; ++i) words >> word;
  return word;
}

// PIDs are comparable only within one PID namespace.
std::string process_space() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? std::to_string(info.st_ino) : "0";
}

}  // namespace

std::string this_process() {
  const std::string pid = std::to_string(::getpid());
  return format("{}-{}-{}", process_space(), pid, start_of(pid));
}

bool is_gone(std::string_view owner) {
  const size_t first = owner.find('-'), second = owner.find('-', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return false;
  const std::string pid(owner.substr(first + 1, second - first - 1)), start(owner.substr(second + 1));
  auto number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return number(pid) && number(start) && owner.substr(0, first) == process_space() && start_of(pid) != start;
}

// PREFIX.OWNER.XXXXXX
void remove_scratch_of_the_dead(const fs::path& base) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(base, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("stitch")) continue;
    const size_t last = name.rfind('.'), first = last == std::string::npos ? last : name.rfind('.', last - 1);
    if (first == std::string::npos || !is_gone(std::string_view(name).substr(first + 1, last - first - 1)))
      continue;
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::getuid())
      fs::remove_all(entry.path(), ec);
  }
}

Result<ScratchFolder> ScratchFolder::create_below(const fs::path& base, std::string_view prefix) {
  static std::once_flag swept_on_disk, swept_in_memory;
  std::call_once(base == memory_folder ? swept_in_memory : swept_on_disk, remove_scratch_of_the_dead, base);
  std::string pattern = (base / format("{}.{}.XXXXXX", prefix, this_process())).string();
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

Result<ScratchFolder> ScratchFolder::create_in_memory(std::string_view prefix) {
  if (::access(memory_folder, W_OK) != 0) return create(prefix);
  return create_below(memory_folder, prefix);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (path_.empty()) return;
  fs::remove_all(path_, ignored);
  keep_if_interrupted(path_);
}

}  // namespace stitch
