#include "cli/package.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/choose_gpu.h"
#include "graph/safetensors.h"
#include "program/package.h"

namespace stitch {

namespace {

// Sources, and the headers beside them: everything but a task and its like.
Result<void> add_files(const fs::path& folder, const fs::path& below, PackageContents& contents) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder / below, ec)) {
    fs::path extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".cu" && extension != ".h" && extension != ".cuh"))
      continue;
    STITCH_TRY(contents.sources[(below / entry.path().filename()).generic_string()], read_file(entry.path()));
  }
  return {};
}

// What the program's folder holds of tensors that no constructor makes.
Result<std::optional<Safetensors>> open_constants(const fs::path& folder) {
  fs::path file = folder / "constants.safetensors";
  std::error_code ec;
  if (!fs::exists(file, ec)) return std::optional<Safetensors>();
  STITCH_TRY(Safetensors held, Safetensors::open(file));
  return std::optional<Safetensors>(std::move(held));
}

}  // namespace

Result<int> run_package(const PackageCommand& command, Console& console) {
  STITCH_TRY(Package package, load_package(command.program));
  PackageContents contents{.manifest = package.manifest};
  std::error_code ec;
  if (!fs::is_directory(command.program, ec))
    return at(command.program, user_error("package", "a single file is no program folder",
                                          "put it into a folder as program.cu"));
  for (const char* below : {"", "regions"}) STITCH_CHECK(add_files(package.folder, below, contents));
  STITCH_TRY(std::optional<Safetensors> constants, open_constants(package.folder));
  if (constants)
    for (const auto& [name, tensor] : constants->tensors()) contents.constants.emplace_back(name, tensor);
  if (!command.task.empty()) {
    STITCH_TRY(contents.task, read_file(command.task));
    if (!command.model_class.empty()) contents.model_class = command.model_class;
  }
  if (!command.gpu.empty() || package.manifest.architecture.empty()) {
    STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
    contents.architecture = gpu.architecture.name;
    if (!package.manifest.needs.empty())
      STITCH_CHECK(check_architecture(package.manifest.needs, contents.architecture));
  }
  STITCH_CHECK(write_package(command.out, contents));
  if (console.json)
    console.out << Json{{"package", command.out}, {"sources", contents.sources.size()}}.dump(2) << '\n';
  else
    console.out << format("{}: {} sources; build it with: cmake -B build && cmake --build build\n",
                          command.out, contents.sources.size());
  return 0;
}

}  // namespace stitch
