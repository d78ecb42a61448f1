#include "sandbox/system_paths.h"

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

}  // namespace stitch::sandbox
