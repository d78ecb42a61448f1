#include "reference/open_reference.h"

#include "base/error_codes.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "reference/gpu_share.h"
#include "reference/preflight.h"
#include "reference/torch_reference.h"

namespace stitch::verifier {

namespace {

// The GPU that is here, for floors and for nvcc.
Result<std::optional<GpuSpec>> spec_of_device(runner::Device device) {
  if (device != runner::Device::cuda) return std::optional<GpuSpec>();
  STITCH_TRY(Driver driver, detect_gpus());
  if (driver.gpus.empty())
    return user_error(error_code::no_gpu, "there is no GPU in this machine",
                      "judge it on the emulated GPU, or where there is one");
  return std::optional<GpuSpec>(spec_of(driver.gpus[0]));
}

// What can't fit is refused now, not after minutes by a process that was killed.
Result<void> check_task(const TaskGraph& task, const ReferenceOptions& options) {
  if (auto warning = mode_warning(task.facts); warning && options.on_warning) options.on_warning(*warning);
  const Needs needs = needs_of(task.graph);
  if (auto fits = check_room(task.graph, needs, room_here(options.device)); !fits)
    return at(task.source.string(), fits.error());
  constexpr double worth_a_word = 10;
  if (options.on_notice && options.device == runner::Device::emulated &&
      needs.emulated_seconds > worth_a_word)
    options.on_notice(format("Judging one program on the emulated GPU takes about {} or more (an estimate).",
                             seconds_text(needs.emulated_seconds)));
  if (!task.weights && !task.signature.parameters.empty())
    return at(task.source.string(), user_error("no_weights", "this graph was imported without weights",
                                               "import it again, with weights"));
  return {};
}

}  // namespace

Result<OpenedTask> open_task_to_judge(const fs::path& source, const TaskOptions& options,
                                      const OnProgress& on_progress) {
  std::error_code ec;
  if (!Task::is_python(source) || !fs::exists(source, ec)) {
    STITCH_TRY(std::shared_ptr<const Task> task, stitch::open_task(source, options, on_progress));
    return OpenedTask{std::move(task), std::nullopt};
  }
  STITCH_TRY(TorchProcess process, TorchProcess::start(options.python));
  STITCH_TRY(std::shared_ptr<const Task> task, process.open_task(source, options, on_progress));
  return OpenedTask{std::move(task), std::move(process)};
}

OpenReference::OpenReference(std::shared_ptr<const Task> opened, std::optional<GpuSpec> spec,
                             runner::Arena shared)
    : task(std::move(opened)), gpu(std::move(spec)), arena(std::move(shared)) {}

OpenReference::~OpenReference() = default;

Result<void> OpenReference::start(std::optional<TorchProcess> process, const ReferenceOptions& options) {
  if (!task.opened->in_python()) {
    reference_ = oracle_reference(task, options.numerics);
    return {};
  }
  if (!process) {
    STITCH_TRY(TorchProcess started, TorchProcess::start(task.opened->options.python));
    process.emplace(std::move(started));
  }
  const std::string where = options.device == runner::Device::cuda ? "cuda" : "cpu";
  process->set_time_limit(options.time_limit);
  STITCH_TRY(auto loaded, TorchReference::load(*std::move(process), task, options.numerics, where));
  torch_ = loaded.get();
  torch_->hold_above(options.hold_above, arena);
  reference_ = std::move(loaded);
  return {};
}

Result<std::unique_ptr<OpenReference>> OpenReference::open(OpenedTask opened,
                                                           const ReferenceOptions& options) {
  STITCH_TRY(std::optional<GpuSpec> gpu, spec_of_device(options.device));
  STITCH_TRY(runner::Arena arena, runner::Arena::create(int64_t{1} << 20));
  std::unique_ptr<OpenReference> out(
      new OpenReference(std::move(opened.task), std::move(gpu), std::move(arena)));
  STITCH_CHECK(check_task(out->task, options));
  STITCH_CHECK(out->start(std::move(opened.process), options));
  if (opened.for_baselines) out->for_baselines.emplace(*std::move(opened.for_baselines));
  return Result<std::unique_ptr<OpenReference>>(std::move(out));
}

Result<std::map<int32_t, bool>> OpenReference::tf32_convolutions() {
  if (!torch_) return std::map<int32_t, bool>();
  return torch_->tf32_convolutions();
}

Result<Json> OpenReference::roundings() {
  if (!torch_) return work_error("unmeasured", "there is no PyTorch to measure it with");
  std::optional<MachineShare> share;
  if (gpu) {
    STITCH_TRY(MachineShare taken, take_gpu_memory(task.graph, task.signature, gpu->memory));
    share.emplace(std::move(taken));
  }
  return torch_->roundings();
}

}  // namespace stitch::verifier
