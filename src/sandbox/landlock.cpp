#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "sandbox/put_up_walls.h"

namespace stitch::sandbox {

namespace {

std::vector<fs::path> existing(std::vector<fs::path> paths) {
  std::error_code ignored;
  std::erase_if(paths, [&](const fs::path& path) { return !fs::exists(path, ignored); });
  return paths;
}

}  // namespace

std::vector<fs::path> system_folders() {
  return existing({"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc/ld.so.cache",
                   "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"});
}

// Not /dev/zero, which a compiler would read without end.
std::vector<fs::path> readable_devices(bool) { return existing({"/dev/urandom", "/dev/random"}); }

std::vector<fs::path> writable_devices(bool gpu) {
  std::vector<fs::path> out = {"/dev/null"};
  std::error_code ignored;
  if (gpu)
    for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
      const std::string name = entry.path().filename().string();
      // /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, the folder /dev/nvidia-caps; Tegra's and WSL's.
      if (name.starts_with("nvidia") || name.starts_with("nvhost") || name.starts_with("nvmap") ||
          name == "dxg")
        out.push_back(entry.path());
    }
  return existing(out);
}

namespace {

// Copied from <linux/landlock.h>, whose older versions lack the newer names.
constexpr long create_ruleset = 444, add_rule = 445, restrict_self = 446;
constexpr uint64_t execute = 1 << 0, write_file = 1 << 1, read_file = 1 << 2, read_dir = 1 << 3;
constexpr uint64_t refer = 1 << 13, truncate = 1 << 14, ioctl_device = 1 << 15;
constexpr uint64_t first_version = (1 << 13) - 1;  // everything but the three above
constexpr uint64_t bind_tcp = 1 << 0, connect_tcp = 1 << 1;
constexpr uint64_t abstract_sockets = 1 << 0, signals = 1 << 1;

struct Ruleset {
  uint64_t files, network, scopes;
};
struct [[gnu::packed]] PathRule {
  uint64_t allowed;
  int32_t parent;
};
constexpr int path_rule = 1;
constexpr unsigned ask_version = 1;

class Landlock {
 public:
  std::string start(bool own_network) {
    const long version = ::syscall(create_ruleset, nullptr, 0, ask_version);
    if (version < 1) return "this kernel has no Landlock";
    handled_ = first_version;
    if (version >= 2) handled_ |= refer;
    if (version >= 3) handled_ |= truncate;
    if (version >= 5) handled_ |= ioctl_device;
    Ruleset ruleset{handled_, version >= 4 && !own_network ? bind_tcp | connect_tcp : 0,
                    version >= 6 ? abstract_sockets | signals : 0};
    const size_t size = version >= 6   ? sizeof ruleset
                        : version >= 4 ? 2 * sizeof(uint64_t)
                                       : sizeof(uint64_t);
    descriptor_ = static_cast<int>(::syscall(create_ruleset, &ruleset, size, 0));
    return descriptor_ < 0 ? std::strerror(errno) : "";
  }
  std::string allow(const fs::path& path, uint64_t rights) {
    const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (place < 0) return errno == ENOENT ? "" : path.string() + ": " + std::strerror(errno);
    struct stat info {};
    ::fstat(place, &info);
    if (!S_ISDIR(info.st_mode)) rights &= execute | write_file | read_file | truncate | ioctl_device;
    PathRule rule{rights & handled_, place};
    const long done = ::syscall(add_rule, descriptor_, path_rule, &rule, 0);
    const int code = errno;
    ::close(place);
    return done == 0 ? "" : path.string() + ": " + std::strerror(code);
  }
  std::string finish() {
    const long done = ::syscall(restrict_self, descriptor_, 0);
    const int code = errno;
    ::close(descriptor_);
    return done == 0 ? "" : std::strerror(code);
  }

 private:
  int descriptor_ = -1;
  uint64_t handled_ = 0;
};

}  // namespace

std::string restrict_files(const Policy& policy) {
  constexpr uint64_t reading = execute | read_file | read_dir,
                     device = read_file | write_file | truncate | ioctl_device | read_dir;
  Landlock landlock;
  std::string trouble = landlock.start(policy.own_network);
  auto allow = [&](const std::vector<fs::path>& paths, uint64_t rights) {
    for (const fs::path& path : paths)
      if (trouble.empty()) trouble = landlock.allow(path, rights);
  };
  allow(system_folders(), reading);
  allow({"/proc", "/sys"}, reading & ~execute);
  allow(readable_devices(policy.gpu), read_file);
  allow(writable_devices(policy.gpu), device);
  if (policy.gpu) {
    // The driver names its threads through /proc/self/task. The rule holds as long as the inode is in memory,
    // so the folder stays open.
    allow({"/proc/self"}, reading | write_file | truncate);
    if (::open("/proc/self", O_PATH) < 0) trouble = "/proc is not there";
  }
  allow(policy.readable, reading);
  allow(policy.writable, ~uint64_t{0});
  return trouble.empty() ? landlock.finish() : trouble;
}

}  // namespace stitch::sandbox
