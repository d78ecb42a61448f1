#include "runner/child/loaded_program.h"

#include <dlfcn.h>

#include <cstring>

namespace stitch::runner {

namespace {

constexpr size_t longest_manifest = 16 << 20, longest_error = 8 << 10;

std::string bounded(const char* text, size_t most) {
  return text ? std::string(text, ::strnlen(text, most)) : std::string();
}

}  // namespace

Result<LoadedProgram> LoadedProgram::open(const fs::path& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return user_error("load", format("the library does not load: {}", ::dlerror()));
  LoadedProgram out;
  std::string missing;
  auto find = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function && needed) missing += format("{}{}", missing.empty() ? "" : ", ", name);
  };
  find(out.create, "stitch_create", true);
  find(out.run, "stitch_run", true);
  find(out.destroy, "stitch_destroy", true);
  find(out.manifest, "stitch_manifest", true);
  find(out.last_error, "stitch_last_error", true);
  find(out.run_region, "stitch_run_region", false);
  find(out.set, "stitch_set", false);
  if (!missing.empty()) return user_error("load", format("the library does not export {}", missing));
  size_t (*version)() = nullptr;
  for (auto [name, function] : {std::pair{"cublasLt", "cublasLtGetVersion"}, {"cudnn", "cudnnGetVersion"}})
    if (find(version, function, false); version) out.libraries[name] = static_cast<int64_t>(version());
  return out;
}

std::string LoadedProgram::manifest_text() const { return bounded(manifest(), longest_manifest); }
std::string LoadedProgram::error_text() const { return bounded(last_error(), longest_error); }

}  // namespace stitch::runner
