// The tasks that are served: by name, with the files that each consists of.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "verify/many/task_index.h"

namespace stitch::serve {

struct ShelvedTask {
  fs::path file;
  std::string name;                          // below the folder, without .py
  std::map<std::string, std::string> files;  // texts by name: the task, and modules of its folder it imports
  std::string hash;                          // of all of them
};

class TaskShelf {
 public:
  static Result<std::unique_ptr<TaskShelf>> open(const fs::path& folder);
  // Read anew where a file changed. An Error is the client's: there is no such task.
  Result<std::shared_ptr<const ShelvedTask>> find(const std::string& name);
  std::vector<std::string> names() const;

 private:
  TaskShelf(fs::path folder, verifier::TaskIndex index, std::vector<fs::path> files)
      : folder_(std::move(folder)), index_(std::move(index)), files_(std::move(files)) {}

  const fs::path folder_;
  const verifier::TaskIndex index_;
  const std::vector<fs::path> files_;
  std::mutex mutex_;
  std::map<std::string, fs::path> known_;  // names that were asked for
  struct Kept {
    std::shared_ptr<const ShelvedTask> task;
    std::map<fs::path, fs::file_time_type> written;  // of each of its files
  };
  std::map<fs::path, Kept> kept_;
};

// A task and the modules of its folder that it imports, by name: what another machine needs of it.
Result<std::map<std::string, std::string>> files_of_task(const fs::path& file);

}  // namespace stitch::serve
