// The Python process that exports a task and then answers for it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/machine/process.h"
#include "import/task.h"

namespace stitch::verifier {

// A process that has begun to import PyTorch, which takes seconds: start it before it is needed.
class TorchProcess {
 public:
  static Result<TorchProcess> start(const std::string& python);
  // Before anything else is asked of it. The same process exports the task and answers for it: the import of
  // PyTorch is most of what a small task takes.
  Result<std::shared_ptr<const Task>> open_task(const fs::path& source, const TaskOptions& options,
                                                const OnProgress& on_progress);
  // One request, one answer; progress lines go to `on_progress`.
  Result<Json> ask(Json request, const std::function<void(std::string_view)>& on_progress = {});
  // For one answer from now on: a process that takes longer is ended, and the caller gets an Error. 0: none.
  void set_time_limit(std::chrono::milliseconds limit) { time_limit_ = limit; }

 private:
  TorchProcess(Child child, fs::path python) : child_(std::move(child)), python_(std::move(python)) {}
  std::optional<Child> child_;  // none only while it exports
  fs::path python_;
  bool on_gpu_ = false;
  std::chrono::milliseconds time_limit_{0};
};

}  // namespace stitch::verifier
