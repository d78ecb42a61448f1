// A task with its reference at hand. The loop asks it for the Planner before there is a plan; the Verifier
// judges programs by it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "gpu/gpu_spec.h"
#include "reference/reference.h"
#include "reference/torch_process.h"
#include "runner/candidate.h"

namespace stitch::verifier {

class TorchReference;

// Of inputs and truth: moving and comparing more of them on the host takes seconds a trial.
inline constexpr int64_t largest_moved = int64_t{64} << 20;

struct OpenedTask {
  std::shared_ptr<const Task> task;
  std::optional<TorchProcess> process;  // that exported it; it can go on as the reference
  std::optional<TorchProcess> for_baselines =
      std::nullopt;  // another one, which compiles and times them meanwhile
};
// Opens a task that programs will be judged by.
Result<OpenedTask> open_task_to_judge(const fs::path& source, const TaskOptions& options,
                                      const OnProgress& on_progress = {});

struct ReferenceOptions {
  Numerics numerics = Numerics::standard;
  runner::Device device = runner::Device::emulated;  // of the programs; PyTorch runs there, too
  std::chrono::milliseconds time_limit{1'800'000};   // for one answer of PyTorch's
  int64_t hold_above = largest_moved;                // bytes of a trial: larger ones stay with PyTorch
  std::function<void(std::string_view)> on_warning;  // about the task
  std::function<void(std::string_view)> on_notice;   // worth a line that stays
};

class OpenReference {
 public:
  // Starts the reference, in a process of its own unless one is given.
  static Result<std::unique_ptr<OpenReference>> open(OpenedTask task, const ReferenceOptions& options);
  ~OpenReference();

  // Which convolutions PyTorch was seen to do in TF32 where it runs, by node; nothing without PyTorch.
  Result<std::map<int32_t, bool>> tf32_convolutions();
  // What rounding does to the outputs, place by place (TorchReference::roundings).
  Result<Json> roundings();

  const TaskGraph task;
  const std::optional<GpuSpec> gpu;  // that is here, where programs run on one
  runner::Arena arena;               // that answers are moved through
  std::optional<TorchProcess> for_baselines;

  Reference& answers() { return *reference_; }
  TorchReference* torch() { return torch_; }  // null: the oracle answers alone

 private:
  OpenReference(std::shared_ptr<const Task> opened, std::optional<GpuSpec> spec, runner::Arena shared);
  Result<void> start(std::optional<TorchProcess> process, const ReferenceOptions& options);

  std::unique_ptr<Reference> reference_;
  TorchReference* torch_ = nullptr;
};

}  // namespace stitch::verifier
