#include "verify/many/task_index.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/text.h"
#include "graph/folder.h"
#include "import/import_all.h"

namespace stitch::verifier {

namespace {

bool ends_in(const std::string& path, const std::string& name) {
  return path == name || path.ends_with("/" + name);
}

// level1/3_Batched is number level1/3.
bool has_number(const std::string& path, const std::string& number) {
  const size_t underscore = path.find('_', path.rfind('/') + 1);
  return underscore != std::string::npos && ends_in(path.substr(0, underscore), number);
}

}  // namespace

Result<std::vector<fs::path>> tasks_below(const fs::path& folder) {
  auto files = find_tasks(folder);
  if (files || files.error().code != "no_tasks") return files;
  std::vector<fs::path> graphs;
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ec))
    if (entry.path().filename() == graph_file && entry.is_regular_file(ec)) graphs.push_back(entry.path());
  if (graphs.empty())
    return at(folder.string(), user_error("no_tasks", "no .py file and no graph below this folder"));
  std::ranges::sort(graphs);
  return graphs;
}

fs::path name_of_task(const fs::path& file) {
  return file.filename() == graph_file ? file.parent_path() : fs::path(file).replace_extension();
}

Result<TaskIndex> TaskIndex::of(const fs::path& folder) {
  TaskIndex index;
  index.folder_ = folder;
  STITCH_TRY(std::vector<fs::path> files, tasks_below(folder));
  // The folder's own name counts: --tasks KernelBench/level1 has level1/3_Batched.
  const fs::path above = fs::absolute(folder).lexically_normal();
  const fs::path base = (above.has_filename() ? above : above.parent_path()).parent_path();
  for (const fs::path& file : files) {
    const fs::path whole = fs::absolute(file).lexically_normal();
    index.rows_.push_back({name_of_task(whole.lexically_relative(base)).generic_string(), whole});
  }
  return index;
}

Result<fs::path> TaskIndex::find(const std::string& name) const {
  std::vector<const Row*> found;
  for (const Row& row : rows_)
    if (ends_in(row.name, name)) found.push_back(&row);
  if (found.empty())
    for (const Row& row : rows_)
      if (has_number(row.name, name)) found.push_back(&row);
  if (found.size() == 1) return found[0]->file;
  if (found.empty()) {
    std::vector<std::string> names;
    for (const Row& row : rows_) names.push_back(fs::path(row.name).filename().string());
    const auto near = nearest(name, names);
    return user_error(
        error_code::no_task, format("there is no task '{}' in {}", name, folder_.string()),
        near ? format("did you mean {}?", *near) : "its folder's name is that of a .py file there");
  }
  return user_error("task", format("'{}' is {} as well as {}", name, found[0]->name, found[1]->name),
                    "name the folder of the task too: AUTHOR/" + found[0]->name + "/SAMPLE");
}

}  // namespace stitch::verifier
