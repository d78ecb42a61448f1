#include "sandbox/bubblewrap.h"

#include <algorithm>

#include "sandbox/system_paths.h"

namespace stitch::sandbox {

namespace {

bool below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// Builds bwrap's mount arguments and remembers what is mounted.
class Mounts {
 public:
  explicit Mounts(std::vector<std::string>& words) : words_(words) {}

  void show_system(const fs::path& path) {
    std::error_code ignored;
    // Keep symlinks such as /lib -> usr/lib.
    if (fs::is_symlink(path, ignored) && path.parent_path() == "/")
      words_.insert(words_.end(), {"--symlink", fs::read_symlink(path, ignored).string(), path.string()});
    else
      words_.insert(words_.end(), {"--ro-bind-try", path.string(), path.string()});
    mounted_.push_back(path);
  }
  void show(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return;
    const fs::path asked = fs::absolute(path).lexically_normal(), real = fs::weakly_canonical(path, ignored);
    // A path below a mounted folder is visible already, but it may be a link whose target is not.
    if (!has(asked))
      bind("--ro-bind", real, asked);
    else if (!has(real))
      bind("--ro-bind", real, real);
  }
  void open(const fs::path& folder) {
    std::error_code ignored;
    bind("--bind", fs::weakly_canonical(folder, ignored), fs::absolute(folder).lexically_normal());
  }

 private:
  bool has(const fs::path& path) const {
    return std::any_of(mounted_.begin(), mounted_.end(),
                       [&](const fs::path& folder) { return below(path, folder); });
  }
  void bind(const char* how, const fs::path& from, const fs::path& to) {
    words_.insert(words_.end(), {how, from.string(), to.string()});
    mounted_.push_back(to);
  }

  std::vector<std::string>& words_;
  std::vector<fs::path> mounted_;
};

constexpr int64_t memory_folder_limit = int64_t{1} << 30;

// --size: since bubblewrap 0.7.
bool knows_sizes(const fs::path& bubblewrap) {
  static const bool knows = [&] {
    bool found = false;
    (void)run({{bubblewrap.string(), "--help"}, {}, std::chrono::seconds(10)},
              [&](std::string_view line) { found = found || line.find("--size ") != line.npos; });
    return found;
  }();
  return knows;
}

}  // namespace

std::vector<std::string> bubblewrap_words(const fs::path& bubblewrap, const fs::path& launcher,
                                          const Policy& policy) {
  std::vector<std::string> words = {
      bubblewrap.string(), "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"};
  // tmpfs pages count towards no process's memory limit.
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    if (knows_sizes(bubblewrap)) words.insert(words.end(), {"--size", std::to_string(memory_folder_limit)});
    words.insert(words.end(), {"--tmpfs", folder});
  }
  words.insert(words.end(), {"--ro-bind-try", "/sys", "/sys"});
  Mounts mounts(words);
  for (const fs::path& path : system_folders()) mounts.show_system(path);
  if (policy.gpu)
    for (const fs::path& path : writable_devices(true))
      words.insert(words.end(), {"--dev-bind-try", path.string(), path.string()});
  std::vector<fs::path> readable = policy.readable;
  readable.push_back(launcher);
  std::sort(readable.begin(), readable.end());  // folders before what is in them
  for (const fs::path& path : readable) mounts.show(path);
  // Scratch folders last: they may be inside a read-only folder.
  for (const fs::path& path : policy.writable) mounts.open(path);
  words.emplace_back("--");
  return words;
}

}  // namespace stitch::sandbox
