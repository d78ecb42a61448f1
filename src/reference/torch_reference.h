// PyTorch in a process of its own (python -m stitchcuda_torch.reference): the truth in float64, the
// class's own error, and the baselines.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/timeline.h"
#include "reference/reference.h"
#include "reference/timing.h"
#include "reference/torch_process.h"
#include "runner/candidate.h"

namespace stitch::verifier {

inline constexpr uint64_t seed_mask = (uint64_t{1} << 62) - 1;  // what every language here can hold
// The reference's name for an output of the signature.
std::string key_of(const TaskGraph& task, size_t output);

class TorchReference : public Reference {
 public:
  // `device`: where PyTorch runs, "cpu" or "cuda".
  static Result<std::unique_ptr<TorchReference>> load(TorchProcess process, const TaskGraph& task,
                                                      Numerics numerics, const std::string& device);

  void seed_weights(uint64_t seed) override;
  Result<Tensors> parameters(Weights weights) override;
  Result<Trial> ask(const Question& question) override;
  Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) override;
  Result<Tensors> draw(const Question& question) override;
  std::vector<std::string> distributions() const override;
  Json describe() const override;

  void set_time_limit(std::chrono::milliseconds limit) { process_.set_time_limit(limit); }
  // Trials whose inputs and truth together are larger stay with PyTorch from now on; what has to be moved
  // goes through the arena, which outlives this.
  void hold_above(int64_t bytes, runner::Arena& arena) {
    hold_above_ = bytes;
    arena_ = &arena;
  }
  bool holds_trials() const;
  // What a held trial's inputs are, into an arena: input i at places[i], if there is one.
  Result<void> put_inputs(const Trial& trial, std::span<const std::optional<runner::Place>> places);
  // Are these, in an arena, still the trial's?
  Result<bool> same_input(const Trial& trial, size_t input, runner::Place place);
  // How far values in an arena are from the truth; integers that are PyTorch's own count as equal.
  Result<Distance> distance_to(const Trial& trial, size_t output, DType dtype, runner::Place place);
  // The share of them that allclose rejects beside PyTorch's own output, of a trial that keeps it.
  Result<double> outside_of_own(const Trial& trial, size_t output, DType dtype, runner::Place place,
                                double tolerance);

  // Memory of PyTorch's device through which held trials go, made when it is first asked for. None where
  // nothing is held; an Error where it can't be had, which is remembered: then the host's arena has to do.
  Result<runner::DeviceArena*> device_arena();
  void free_device_arena();
  // Where such bytes are in it; nothing for other bytes.
  std::optional<int64_t> on_device(std::span<const std::byte> bytes) const;
  // A hash of these bytes, so that they need not be kept.
  Result<std::string> fingerprint(int64_t offset, int64_t bytes);
  // Ranges of what lies there, one after the other, into the host's arena.
  Result<void> fetch(int64_t offset, std::span<const runner::Range> ranges, int64_t to);

  // A device arena for a series of calls, with memory beside it that stays PyTorch's (series_keeper.h),
  // instead of the arena before; and what else is asked about it.
  Result<const runner::DeviceArena*> open_series(Json layout, int64_t bytes);
  Result<Json> about_series(Json request);
  // How far the calls that were read last are from PyTorch's own answer, the farthest first, as many as are
  // looked at in so many seconds. `offsets`: of the outputs within a call's.
  Result<std::vector<StrangeCall>> strange_calls(int count, int most, std::span<const int64_t> offsets,
                                                 double seconds, uint64_t seed);
  // The same of one call, about what `question` draws. Of each output every `step`th element from `start` on.
  struct Sample {
    int64_t start = 0, step = 1;
    std::vector<std::byte> bytes;
  };
  Result<double> strangeness(const Question& question, std::span<const Sample> outputs);
  Result<Distance> kept_distance(int number, const Trial& trial, size_t output, DType dtype, int64_t offset);

  // The same of what needs no computing: "zeros", "mean", "input" (each that fits), "another" trial's truth.
  Result<std::vector<Distance>> imitations(const Trial& trial, size_t output, std::string_view by,
                                           const Trial& other);

  // A file with the constructor's arguments, for Python candidates: in a folder of its own, away from
  // answers.
  Result<fs::path> init_inputs();
  // Gets a baseline ready, once. Samples::unavailable says why it can't be had.
  Result<Samples> prepare_baseline(const std::string& kind, uint64_t seed);
  Result<void> time_baseline(Samples& samples, int count, int64_t flush_bytes, uint64_t seed);
  // One call of a baseline that is ready, as PyTorch's profiler sees it.
  // Its first profile takes seconds of the host's: it is taken before the caller locks the GPU.
  Result<void> warm_profiler();
  Result<profile::Timeline> profile_baseline(const std::string& kind, const std::string& gpu);
  Result<int64_t> peak_bytes();
  // Which of the task's convolutions PyTorch does in TF32 on its device, by node; those it can't say are left
  // out.
  Result<std::map<int32_t, bool>> tf32_convolutions();
  // What rounding each value, and each operand of a product, does to the outputs: squares of errors in units
  // of what the class allows, as plan/precision/measured_errors.h reads them. An error of code "unmeasured"
  // says why that isn't known.
  Result<Json> roundings();

 private:
  Result<Json> roundings_with(Weights weights, std::string_view distribution);
  TorchReference(TorchProcess process, const TaskGraph& task, Numerics numerics, ScratchFolder scratch);
  Result<void> set_weights(Weights weights);
  Result<std::shared_ptr<const Safetensors>> evaluate(const fs::path& inputs, std::string_view mode,
                                                      std::optional<uint64_t> seed = {},
                                                      const Question& question = {});
  Result<std::shared_ptr<const Safetensors>> draw_to(const fs::path& file, const Question& question);
  fs::path fresh_file();
  // In the signature's order: from the file, from the weights, from the seed. Without a file, types alone
  // stand for what would be drawn.
  Result<Tensors> inputs(const Question& question, const std::shared_ptr<const Safetensors>& drawn) const;
  Result<Trial> hold(const Question& question);
  Result<Json> ask_patiently(Json request);  // again and again while the GPU is full
  Result<void> let_go();                     // of trials that are no longer referenced
  Json updates() const;
  bool too_large() const;
  std::shared_ptr<const Safetensors> redrawn(Weights weights) const;  // null: as the task has them
  Result<runner::DeviceArena> make_device_arena();
  Result<runner::DeviceArena> take_device_arena(Json request, int64_t bytes);
  Result<void> share_arena();  // the host's, once

  TorchProcess process_;
  const TaskGraph& task_;
  Numerics numerics_;
  ScratchFolder scratch_;
  std::shared_ptr<const Json> about_;
  std::vector<std::string> distributions_;
  Weights weights_ = Weights::task;
  uint64_t weights_seed_ = 1;
  bool stale_ = false;  // redrawn by another seed
  std::map<Weights, std::shared_ptr<const Safetensors>> redrawn_;
  std::optional<ScratchFolder> for_candidates_;
  int files_ = 0;
  runner::Arena* arena_ = nullptr;
  bool on_gpu_ = false, shared_ = false;
  int64_t hold_above_ = 0;
  int trials_ = 0;
  std::optional<Result<runner::DeviceArena>> device_arena_;
  std::map<std::string, Samples> prepared_;  // baselines that are ready, without times
  std::shared_ptr<std::vector<int>> dropped_ = std::make_shared<std::vector<int>>();
};

}  // namespace stitch::verifier
