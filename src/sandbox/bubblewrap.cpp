#include "sandbox/bubblewrap.h"

#include "sandbox/system_paths.h"

namespace stitch::sandbox {

std::vector<std::string> bubblewrap_words(const fs::path& bubblewrap, const fs::path& launcher,
                                          const Policy& policy) {
  std::vector<std::string> words = {
      bubblewrap.string(), "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev",
      "--tmpfs",           "/tmp",          "--ro-bind-try",     "/sys",   "/sys"};
  std::error_code ignored;
  // Mounted under the name it was asked for, so that paths with links in them go on working. What is below a
  // system folder is there already.
  auto show = [&](const fs::path& path, const char* how) {
    const std::string real = fs::weakly_canonical(path, ignored).string();
    const std::string asked = fs::absolute(path).lexically_normal().string();
    if (real.starts_with("/usr/") && asked.starts_with("/usr/") && std::string_view(how) == "--ro-bind")
      return;
    words.insert(words.end(), {how, real, asked});
  };
  // A link (/lib -> usr/lib) stays one.
  for (const fs::path& path : system_folders()) {
    if (fs::is_symlink(path, ignored) && path.parent_path() == "/")
      words.insert(words.end(), {"--symlink", fs::read_symlink(path, ignored).string(), path.string()});
    else
      words.insert(words.end(), {"--ro-bind-try", path.string(), path.string()});
  }
  if (policy.gpu)
    for (const fs::path& path : writable_devices(true))
      words.insert(words.end(), {"--dev-bind-try", path.string(), path.string()});
  for (const fs::path& path : policy.readable)
    if (fs::exists(path, ignored)) show(path, "--ro-bind");
  show(launcher, "--ro-bind");
  // Scratch folders last: they may lie below something that is only to be read.
  for (const fs::path& path : policy.writable) show(path, "--bind");
  words.emplace_back("--");
  return words;
}

}  // namespace stitch::sandbox
