// PyTorch in a process of its own (python -m stitchcuda_torch.reference_server): the truth in float64, the
// class's own error, and the baselines.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "verify/reference.h"
#include "verify/timing.h"

namespace stitch::verifier {

// A process that has begun to import PyTorch, which takes seconds: start it before it is needed.
class TorchProcess {
 public:
  static Result<TorchProcess> start(const std::string& python);
  // One request, one answer; progress lines go to `on_progress`.
  Result<Json> ask(const Json& request, const std::function<void(std::string_view)>& on_progress = {});

 private:
  TorchProcess(Child child, fs::path python) : child_(std::move(child)), python_(std::move(python)) {}
  Child child_;
  fs::path python_;
  bool on_gpu_ = false;
};

class TorchReference : public Reference {
 public:
  // `device`: where PyTorch runs, "cpu" or "cuda".
  static Result<std::unique_ptr<TorchReference>> load(TorchProcess process, const TaskGraph& task,
                                                      const std::string& model_class, Numerics numerics,
                                                      const std::string& device);

  Result<Tensors> parameters(Weights weights) override;
  Result<Trial> ask(const Question& question) override;
  std::vector<std::string> distributions() const override;
  Json describe() const override;

  // A file with the constructor's arguments, for Python candidates: in a folder of its own, away from
  // answers.
  Result<fs::path> init_inputs();
  // Gets a baseline ready. Samples::unavailable says why it can't be had.
  Result<Samples> prepare_baseline(const std::string& kind, uint64_t seed);
  Result<void> time_baseline(Samples& samples, int count, int64_t flush_bytes, uint64_t seed);
  Result<int64_t> peak_bytes();

 private:
  TorchReference(TorchProcess process, const TaskGraph& task, Numerics numerics, ScratchFolder scratch);
  Result<void> set_weights(Weights weights);
  Result<std::shared_ptr<const Safetensors>> evaluate(const fs::path& inputs, std::string_view mode);
  fs::path fresh_file();

  TorchProcess process_;
  const TaskGraph& task_;
  Numerics numerics_;
  ScratchFolder scratch_;
  std::shared_ptr<const Json> about_;
  std::vector<std::string> distributions_;
  Weights weights_ = Weights::task;
  std::shared_ptr<const Safetensors> reparameterised_;
  std::optional<ScratchFolder> for_candidates_;
  int files_ = 0;
};

}  // namespace stitch::verifier
