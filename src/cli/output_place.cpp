#include "cli/output_place.h"

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "graph/folder.h"

namespace stitch {

std::string place_of(const Published& published, const std::string& asked) {
  return published.beside.empty() ? asked : published.folder.string();
}

std::string said_of(const Published& published, const std::string& asked) {
  std::string out;
  if (!published.beside.empty())
    out += format("{}: {}\nWritten to {} instead.\n", asked, published.beside, published.folder.string());
  for (const std::string& line : published.saved) out += format("{}: {}\n", asked, line);
  return out;
}

void add_place(Json& json, const char* key, const Published& published, const std::string& asked) {
  json[key] = place_of(published, asked);
  if (!published.beside.empty()) json["beside"] = published.beside;
  if (!published.saved.empty()) json["saved"] = published.saved;
}

Result<void> check_task_file(const std::string& path) {
  const fs::path file = path;
  std::error_code ec;
  auto not_a_task = [&](std::string what, std::string fix) {
    return at(path, user_error(error_code::no_task, std::move(what), std::move(fix)));
  };
  if (!fs::exists(file, ec))
    return at(path, user_error("no_file", "no such .py task",
                               "name a file with Model, get_inputs() and get_init_inputs()"));
  if (fs::is_directory(file, ec)) {
    if (fs::exists(file / graph_file, ec))
      return not_a_task(
          "is a graph folder: this command needs the .py task it was imported from",
          format(
              "name that file; or use the graph folder with: stitchcuda code {} -o FOLDER, then stitchcuda "
              "verify FOLDER --task {}",
              path, path));
    if (fs::exists(file / "program.cu", ec))
      return not_a_task(
          "is a program folder, not a .py task",
          format("name the .py task; to check the program: stitchcuda verify {} --task TASK.py", path));
    return not_a_task("is a folder, not a .py task",
                      format("name one file in it, or use: stitchcuda bench {} -o FOLDER", path));
  }
  if (file.extension() == ".py") return {};
  if (file.extension() == ".txt")
    return not_a_task("is a text file, not a .py task",
                      format("name the .py task; to see a graph: stitchcuda show {}", path));
  return not_a_task("is not a .py task", "name a file with Model, get_inputs() and get_init_inputs()");
}

}  // namespace stitch
