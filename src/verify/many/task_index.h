// Tasks of a folder by the names that candidates have for them.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

namespace stitch::verifier {

// The tasks below a folder: .py files; where there is none, graphs.
Result<std::vector<fs::path>> tasks_below(const fs::path& folder);
// The path without .py, or a graph's folder.
fs::path name_of_task(const fs::path& file);

class TaskIndex {
 public:
  static Result<TaskIndex> of(const fs::path& folder);
  // "level1/3_Batched", "3_Batched", or "level1/3" where it is the only one of that number.
  Result<fs::path> find(const std::string& name) const;

 private:
  struct Row {
    std::string name;  // the path below the folder, without .py
    fs::path file;
  };
  fs::path folder_;
  std::vector<Row> rows_;
};

}  // namespace stitch::verifier
