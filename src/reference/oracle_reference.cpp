#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/inputs/boundaries.h"
#include "reference/inputs/draw.h"
#include "reference/inputs/pointed.h"
#include "reference/inputs/reparameterise.h"
#include "reference/reference.h"

namespace stitch::verifier {

namespace {

double largest_of(DType dtype) {
  if (dtype == DType::f16) return 65504;
  return dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

// As numbers of the outputs' own types: what overflows there overflows in PyTorch too.
bool finite(const Tensors& truth, const std::vector<ManifestTensor>& outputs) {
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!is_floating(truth[i].type.dtype)) continue;
    std::vector<std::byte> nothing(truth[i].bytes.size());
    const Distance size = distance({truth[i].type, nothing}, truth[i]);
    if (size.scattered || size.largest > largest_of(outputs[i].type.dtype)) return false;
  }
  return true;
}

class OracleReference : public Reference {
 public:
  OracleReference(const TaskGraph& task, Numerics numerics)
      : task_(task), numerics_(numerics), boundaries_(boundaries_of(task.graph)) {}

  void seed_weights(uint64_t seed) override { weights_seed_ = seed; }

  Result<Tensors> parameters(Weights weights) override {
    return weighted(task_.signature.parameters, weights);
  }

  Result<Trial> ask(const Question& question) override {
    Trial trial{.question = question};
    STITCH_TRY(trial.inputs, draw(question));
    STITCH_TRY(Tensors weights, parameters(question.weights));
    STITCH_TRY(OracleAnswer answer, ask_oracle(task_, weights, trial.inputs, numerics_, question.seed,
                                               harsh::is_exact(question.distribution)));
    trial.truth = std::move(answer.truth);
    trial.sensitivity = std::move(answer.sensitivity);
    trial.in_domain = (question.distribution == "task" && !is_harsh(question)) ||
                      finite(trial.truth, task_.signature.outputs);
    if (trial.in_domain && is_harsh(question)) trial.in_domain = is_sound(trial);
    return trial;
  }

  Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) override {
    STITCH_TRY(Tensors weights, parameters(trial.question.weights));
    STITCH_TRY(OracleAnswer answer, ask_oracle(task_, weights, trial.inputs, numerics_,
                                               trial.question.seed + draw * 0x9e37'79b9'7f4a'7c15));
    return std::move(answer.sensitivity);
  }

  Result<Tensors> draw(const Question& question) override {
    Tensors inputs;
    for (const ManifestTensor& tensor : task_.signature.inputs) {
      if (tensor.role == "state") {
        STITCH_TRY(Tensors state, weighted({tensor}, question.weights));
        if (question.weights != Weights::task && counts_calls(tensor)) {
          STITCH_TRY(oracle::Tensor count,
                     oracle::Tensor::from_bytes(tensor.type.dtype, tensor.type.shape, state[0].bytes));
          count = count.copy();
          *count.writable<int64_t>() += static_cast<int64_t>(1 + weights_seed_ % 3);
          inputs.add(state[0].type, count.to_bytes());
        } else {
          inputs.add(state[0], state.owners[0]);
        }
      } else if (tensor.role == "seed") {
        std::vector<std::byte> bytes(sizeof(int64_t));
        std::memcpy(bytes.data(), &question.seed, sizeof(int64_t));
        inputs.add(tensor.type, std::move(bytes));
      } else {
        ValueId id = task_.graph.find(tensor.name);
        TensorType type{tensor.type.dtype, tensor.type.shape, {}};
        const auto kind = boundaries_.find(question.distribution);
        if (kind == boundaries_.end()) {
          inputs.add(type, draw_input(task_.graph, id, question.distribution, question.seed));
          continue;
        }
        std::vector<std::byte> drawn = draw_input(task_.graph, id, "task", question.seed);
        if (const auto planted = kind->second.find(id); planted != kind->second.end()) {
          std::vector<double> values = as_doubles({type, drawn});
          plant(planted->second, question.seed + index_of(id), type.shape, values);
          drawn = oracle::Tensor::of(type.dtype, type.shape, values).to_bytes();
        }
        inputs.add(type, std::move(drawn));
      }
    }
    return inputs;
  }

  std::vector<std::string> distributions() const override { return drawn_distributions(); }
  Json describe() const override { return {{"by", "the float64 oracle"}}; }

 private:
  // An integer that no tensor is indexed with: as one to three calls leave it.
  bool counts_calls(const ManifestTensor& state) const {
    return state.type.dtype == DType::i64 && state.type.elements() == 1 &&
           !index_bound(task_.graph, task_.graph.find(state.name));
  }

  Result<Tensors> weighted(const std::vector<ManifestTensor>& wanted, Weights weights) const {
    STITCH_TRY(Tensors found, find_tensors(wanted, task_.weights, nullptr));
    if (weights == Weights::task) return found;
    STITCH_TRY(Tensors redrawn, reparameterise(wanted, found, weights_seed_, weights == Weights::faint));
    if (weights == Weights::pointed) return changed(wanted, redrawn, pointed_weights(task_.graph));
    if (weights == Weights::bounded) return changed(wanted, redrawn, bounded_weights(task_.graph));
    if (weights == Weights::tails) return changed(wanted, redrawn, tail_weights(task_.graph));
    return redrawn;
  }

  static Result<Tensors> changed(const std::vector<ManifestTensor>& wanted, const Tensors& redrawn,
                                 const std::vector<WeightChange>& changes) {
    Tensors out;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const TensorType& type = redrawn[i].type;
      if (std::ranges::find(changes, wanted[i].data, &WeightChange::data) == changes.end()) {
        out.add(redrawn[i], redrawn.owners[i]);
        continue;
      }
      STITCH_TRY(oracle::Tensor tensor, oracle::Tensor::from_bytes(type.dtype, type.shape, redrawn[i].bytes));
      for (const WeightChange& one : changes)
        if (one.data == wanted[i].data) change(tensor, one);
      out.add(type, tensor.to_bytes());
    }
    return out;
  }

  const TaskGraph& task_;
  Numerics numerics_;
  Boundaries boundaries_;
  uint64_t weights_seed_ = 0;
};

}  // namespace

std::unique_ptr<Reference> oracle_reference(const TaskGraph& task, Numerics numerics) {
  return std::make_unique<OracleReference>(task, numerics);
}

}  // namespace stitch::verifier
