#include "import/python.h"

#include <cstdlib>

#include "base/error_codes.h"

namespace stitch {

namespace {

constexpr std::string_view package = "stitchcuda_torch";

// Where the project may lie: told, beside the executable once installed, or as it was built.
std::vector<fs::path> homes() {
  std::vector<fs::path> out;
  if (const char* home = std::getenv("STITCHCUDA_HOME")) out.emplace_back(home);
  out.push_back(executable_folder().parent_path() / "share/stitchcuda");
#ifdef STITCH_SOURCE_DIR
  out.emplace_back(STITCH_SOURCE_DIR);
#endif
  return out;
}

}  // namespace

// Without links and ".." on the way: candidates run it in a file system that lacks the folders there.
Result<fs::path> find_python(const std::string& wanted) {
  const char* told = std::getenv("STITCHCUDA_PYTHON");
  std::string name = !wanted.empty() ? wanted : told ? told : "";
  if (!name.empty()) {
    if (auto program = find_program(name)) return with_real_parent(*program);
    return user_error(error_code::no_python, format("'{}' is no program that can be run", name),
                      "give --python or STITCHCUDA_PYTHON the path of a Python with PyTorch");
  }
  for (const fs::path& home : homes())
    if (auto program = find_program((home / ".venv/bin/python").string())) return with_real_parent(*program);
  if (auto program = find_program("python3")) return with_real_parent(*program);
  return user_error(error_code::no_python,
                    "there is no python3 on this machine, and importing a model needs one with PyTorch",
                    "run ./dev setup, or install Python 3.10 or newer and: pip install torch");
}

Result<fs::path> find_python_package() {
  std::error_code ec;
  for (const fs::path& home : homes())
    if (fs::is_directory(home / "python" / package, ec)) return fs::weakly_canonical(home / "python", ec);
  return user_error("no_package", "the Python half of StitchCUDA (python/stitchcuda_torch) was not found",
                    "set STITCHCUDA_HOME to the project's folder");
}

Result<Command> python_command(const fs::path& python, const std::string& module,
                               std::vector<std::string> arguments) {
  STITCH_TRY(fs::path folder, find_python_package());
  Command command;
  command.words = {python.string(), "-m", module};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  const char* before = std::getenv("PYTHONPATH");
  command.extra_environment["PYTHONPATH"] =
      before && *before ? folder.string() + ":" + before : folder.string();
  command.extra_environment["PYTHONUNBUFFERED"] = "1";
  // Compiled files beside the sources would dirty a read-only or shared checkout.
  command.extra_environment["PYTHONDONTWRITEBYTECODE"] = "1";
  return command;
}

}  // namespace stitch
