// stitchcuda verify: a program and a task in, a verdict with evidence out.
#pragma once

#include <map>
#include <memory>

#include "verify/session.h"
#include "verify/clock/settings_clock.h"
#include "reference/torch_process.h"
#include "verify/verdict.h"

namespace stitch::verifier {

struct OpenedTask {
  std::shared_ptr<const Task> task;
  std::optional<TorchProcess> process;  // that exported it; it can go on as the reference
  std::optional<TorchProcess> for_baselines =
      std::nullopt;  // another one, which compiles and times them meanwhile
};
// Opens a task that programs will be judged by.
Result<OpenedTask> open_task_to_judge(const fs::path& source, const TaskOptions& options,
                                      const OnProgress& on_progress = {});

// A task with its reference at hand, before which programs come one after the other.
class Verifier {
 public:
  // Starts the reference, in a process of its own unless one is given. Of the options, numerics and device
  // are looked at; warnings and notices about the task are given.
  static Result<std::unique_ptr<Verifier>> open(OpenedTask task, const VerifyOptions& options);
  virtual ~Verifier() = default;
  // An Error is a mistake in the request or trouble of our own; whatever the candidate does is a verdict.
  // From several threads at once where side_by_side() says so; others wait for their turn.
  virtual Result<Verdict> judge(const VerifyOptions& options) = 0;
  // Whether others can be judged meanwhile: all of them ask one reference, each of their processes is its
  // own.
  virtual bool side_by_side(const VerifyOptions& options) const = 0;
  // Of a program that passed; `options` and the verifier outlive the clock.
  virtual Result<std::unique_ptr<SettingsClock>> settings_clock(const VerifyOptions& options) = 0;
  // Which convolutions PyTorch was seen to do in TF32 where it runs, by node; nothing without PyTorch.
  virtual Result<std::map<int32_t, bool>> tf32_convolutions() = 0;
  // What rounding does to the outputs, place by place (TorchReference::roundings).
  virtual Result<Json> roundings() = 0;
  virtual const TaskGraph& task() const = 0;
};

// One program, from beginning to end.
Result<Verdict> verify(const fs::path& task, const VerifyOptions& options,
                       const TaskOptions& task_options = {});

}  // namespace stitch::verifier
