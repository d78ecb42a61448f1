#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "verify/draw.h"
#include "verify/reference.h"
#include "verify/reparameterise.h"

namespace stitch::verifier {

namespace {

bool finite(const Tensors& truth) {
  for (const TensorBytes& tensor : truth.tensors)
    if (distance(tensor, tensor).scattered) return false;
  return true;
}

class OracleReference : public Reference {
 public:
  OracleReference(const TaskGraph& task, Numerics numerics) : task_(task), numerics_(numerics) {}

  void seed_weights(uint64_t seed) override { weights_seed_ = seed; }

  Result<Tensors> parameters(Weights weights) override {
    return weighted(task_.signature.parameters, weights);
  }

  Result<Trial> ask(const Question& question) override {
    Trial trial{.question = question};
    STITCH_TRY(trial.inputs, draw(question));
    STITCH_TRY(Tensors weights, parameters(question.weights));
    STITCH_TRY(OracleAnswer answer, ask_oracle(task_, weights, trial.inputs, numerics_, question.seed));
    trial.truth = std::move(answer.truth);
    trial.sensitivity = std::move(answer.sensitivity);
    trial.in_domain = question.distribution == "task" ||
                      (finite(trial.truth) && (!harsh::is_harsh(question.distribution) || is_sound(trial)));
    return trial;
  }

  Result<Tensors> draw(const Question& question) override {
    Tensors inputs;
    for (const ManifestTensor& tensor : task_.signature.inputs) {
      if (tensor.role == "state") {
        STITCH_TRY(Tensors state, weighted({tensor}, question.weights));
        inputs.add(state[0], state.owners[0]);
      } else if (tensor.role == "seed") {
        std::vector<std::byte> bytes(sizeof(int64_t));
        std::memcpy(bytes.data(), &question.seed, sizeof(int64_t));
        inputs.add(tensor.type, std::move(bytes));
      } else {
        ValueId id = task_.graph.find(tensor.name);
        TensorType type{tensor.type.dtype, tensor.type.shape, {}};
        inputs.add(type, draw_input(task_.graph, id, question.distribution, question.seed));
      }
    }
    return inputs;
  }

  std::vector<std::string> distributions() const override { return drawn_distributions(); }
  Json describe() const override { return {{"by", "the float64 oracle"}}; }

 private:
  Result<Tensors> weighted(const std::vector<ManifestTensor>& wanted, Weights weights) const {
    STITCH_TRY(Tensors found, find_tensors(wanted, task_.weights, nullptr));
    if (weights == Weights::task) return found;
    return reparameterise(wanted, found, weights_seed_, weights == Weights::faint);
  }

  const TaskGraph& task_;
  Numerics numerics_;
  uint64_t weights_seed_ = 0;
};

}  // namespace

std::unique_ptr<Reference> oracle_reference(const TaskGraph& task, Numerics numerics) {
  return std::make_unique<OracleReference>(task, numerics);
}

}  // namespace stitch::verifier
