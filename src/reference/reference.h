// The reference: where inputs, weights and right answers come from. PyTorch in a process of its own, with
// the C++ oracle for what it can't say; the oracle alone where there is no PyTorch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "import/task.h"
#include "oracle/interpreter.h"
#include "program/manifest.h"
#include "reference/numerics.h"
#include "reference/trial.h"

namespace stitch::verifier {

// The task with the signature that every program of it has: what every reference starts from.
struct TaskGraph {
  explicit TaskGraph(std::shared_ptr<const Task> task)
      : opened(std::move(task)),
        source(opened->source),
        facts(opened->facts),
        graph(opened->graph),
        weights(opened->weights),
        signature(signature_of(graph)) {}

  std::shared_ptr<const Task> opened;
  const fs::path& source;  // the rest of it, by the names that are needed most
  const TaskFacts& facts;
  const Graph& graph;
  const std::shared_ptr<const Safetensors>& weights;
  Signature signature;
};

class Reference {
 public:
  virtual ~Reference() = default;
  // What reparameterised weights are drawn from, until the next seed: secret, as questions' seeds are.
  virtual void seed_weights(uint64_t seed) = 0;
  // In the order of signature.parameters.
  virtual Result<Tensors> parameters(Weights weights) = 0;
  virtual Result<Trial> ask(const Question& question) = 0;
  // Relative, by output: how much the truth of a trial changes with its inputs moved within the class's
  // rounding. Each draw moves them otherwise; 0 is the one that `ask` takes.
  virtual Result<std::vector<double>> movement(const Trial& trial, uint64_t draw) = 0;
  // A question's inputs alone, in the signature's order.
  virtual Result<Tensors> draw(const Question& question) = 0;
  // Besides "task"; the order in which they are worth trying.
  virtual std::vector<std::string> distributions() const = 0;
  virtual Json describe() const = 0;  // for the verdict: who answered, with which versions
};

// Whether a model draws random numbers: its graph has a seed among its inputs.
bool is_random(const Signature& signature);

// PyTorch overflows where float64 doesn't, and the task's own inputs and weights are not to blame: such a
// trial has no measure.
bool overflows(const Trial& trial);
// Whether an output of a trial can be wrong: PyTorch and float64 are finite somewhere.
bool proves(const Trial& trial, size_t output);

// Whether a harsh kind of inputs counts: PyTorch, or rounding where there is none, is near the truth there.
bool is_sound(const Trial& trial);
// The same by output, and of mild inputs whether the truth is finite: those that are sound count.
void settle(Trial& trial);

std::unique_ptr<Reference> oracle_reference(const TaskGraph& task, Numerics numerics);

// Parameters or states by their key in a file of weights; what the file lacks (constants) comes from
// `otherwise`.
Result<Tensors> find_tensors(const std::vector<ManifestTensor>& wanted,
                             const std::shared_ptr<const Safetensors>& file,
                             const std::shared_ptr<const Safetensors>& otherwise);

// The truth by the oracle, in the signature's order. Sensitivity is to a rounding of what is given; of inputs
// that are exact (harsh::is_exact) only where products round them.
struct OracleAnswer {
  Tensors truth;
  std::vector<double> sensitivity;
};
// What the oracle starts from.
Result<oracle::Known> oracle_values(const TaskGraph& task, const Tensors& parameters, const Tensors& inputs);
Result<OracleAnswer> ask_oracle(const TaskGraph& task, const Tensors& parameters, const Tensors& inputs,
                                Numerics numerics, uint64_t seed, bool exact_inputs = false);

}  // namespace stitch::verifier
