// The tasks that are served: by name, with the files that each consists of.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "verify/many/task_index.h"
#include "verify/verify.h"

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

// Open tasks with their reference processes. Candidates that can be judged at once share one; those that
// can't (timing, trials held by PyTorch) get their own.

// Its processes live as long as the thread that opened it.
struct OpenTask {
  std::string name, hash;
  std::unique_ptr<verifier::Verifier> verifier;  // null: it is being opened
  uint64_t seed = 0;                             // of the inputs for all candidates
  int judged = 0, users = 0;
  bool alone = false;    // its user needs it exclusively
  bool retired = false;  // not handed out any more
};

class OpenTasks {
 public:
  // `most`: tasks kept open, unless more are in use.
  explicit OpenTasks(size_t most) : most_(most) {}

  using Opener = std::function<Result<std::unique_ptr<verifier::Verifier>>()>;
  // A task for a candidate with these options, opened if need be. `meanwhile` is done, once at most, while
  // it is being opened.
  Result<std::shared_ptr<OpenTask>> take(const std::string& name, const std::string& hash,
                                         const verifier::VerifyOptions& options, const Opener& open,
                                         const std::function<void()>& meanwhile);
  // `still_good`: no: its reference may be gone.
  void put_back(const std::shared_ptr<OpenTask>& task, bool still_good);

 private:
  struct Found {
    std::shared_ptr<OpenTask> task;
    bool being_opened = false;
  };
  Found find(const std::string& name, const std::string& hash, const verifier::VerifyOptions& options) const;
  Result<void> open(OpenTask& task, const Opener& opener, const std::function<void()>& meanwhile);

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable opened_;
  std::list<std::shared_ptr<OpenTask>> tasks_;               // the one used last is the first
  std::map<std::string, std::pair<Error, int64_t>> closed_;  // by hash: those that can't be opened, and when
};

}  // namespace stitch::serve
