#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/cost.h"
#include "oracle/interpreter.h"
#include "reference/reference.h"
#include "reference/sensitivity.h"

namespace stitch::verifier {

namespace {

// Rounding happens at every node, and not only to what comes in.
constexpr double accumulation = 4;

using Named = std::vector<std::pair<ValueId, oracle::Tensor>>;

Result<void> add_known(const Graph& graph, const std::vector<ManifestTensor>& names, const Tensors& values,
                       Named& known) {
  require(names.size() == values.size(), "as many tensors as the signature names");
  for (size_t i = 0; i < names.size(); ++i) {
    ValueId id = graph.find(names[i].name);
    require(id != ValueId::none, "a signature names values of its graph");
    STITCH_TRY(oracle::Tensor tensor,
               oracle::Tensor::from_bytes(values[i].type.dtype, values[i].type.shape, values[i].bytes));
    known.emplace_back(id, std::move(tensor));
  }
  return {};
}

oracle::Known as_known(const Named& named) { return {named.begin(), named.end()}; }

DType truth_dtype(DType dtype) { return is_floating(dtype) ? DType::f64 : dtype; }

}  // namespace

Result<oracle::Known> oracle_values(const TaskGraph& task, const Tensors& parameters, const Tensors& inputs) {
  Named known;
  STITCH_CHECK(add_known(task.graph, task.signature.parameters, parameters, known));
  STITCH_CHECK(add_known(task.graph, task.signature.inputs, inputs, known));
  return as_known(known);
}

bool is_random(const Signature& signature) {
  return std::ranges::any_of(signature.inputs, [](const ManifestTensor& t) { return t.role == "seed"; });
}

bool overflows(const Trial& trial) {
  const Question& question = trial.question;
  if (question.distribution == harsh::not_finite ||
      (question.weights == Weights::task && question.distribution == "task"))
    return false;
  for (size_t i = 0; i < trial.truth.size(); ++i)
    if (auto pytorch = pytorch_distance(trial, i); pytorch && pytorch->not_finite > 0) return true;
  return false;
}

bool proves(const Trial& trial, size_t output) {
  if (!trial.counts(output)) return false;
  const TensorBytes& truth = trial.truth[output];
  if (!is_floating(truth.type.dtype)) return true;
  const std::optional<Distance> pytorch = pytorch_distance(trial, output);
  return !(pytorch ? *pytorch : distance(truth, truth)).says_nothing();
}

namespace {

bool is_sound(const Trial& trial, size_t output) {
  // What a recurrence forgot shows by half of its output, another GELU by a fifth: less certainty will do.
  const bool shows = trial.question.weights == Weights::pointed || is_in_tails(trial.question);
  const double near = shows ? 0.1 : 1e-2;
  const std::optional<Distance> pytorch = pytorch_distance(trial, output);
  if (pytorch && (pytorch->not_finite > 0 || !(pytorch->relative() < near))) return false;
  return output >= trial.sensitivity.size() || trial.sensitivity[output] < near;
}

}  // namespace

bool is_sound(const Trial& trial) {
  for (size_t i = 0; i < trial.truth.size(); ++i)
    if (is_floating(trial.truth[i].type.dtype) && !is_sound(trial, i)) return false;
  return true;
}

void settle(Trial& trial) {
  const Question& question = trial.question;
  trial.unsound.clear();
  trial.in_domain = true;
  if (question.weights == Weights::task && question.distribution == "task") return;
  auto floats = [&](size_t i) { return is_floating(trial.truth[i].type.dtype); };
  auto counts = [&](size_t i) {
    const std::optional<Distance> pytorch = pytorch_distance(trial, i);
    if (is_harsh(question) && pytorch) return is_sound(trial, i);
    if (pytorch && pytorch->not_finite > 0) return false;
    return question.distribution == "task" || !distance(trial.truth[i], trial.truth[i]).scattered;
  };
  for (size_t i = 0; i < trial.truth.size(); ++i) trial.in_domain &= !floats(i) || counts(i);
  if (trial.in_domain) return;
  for (size_t i = 0; i < trial.truth.size(); ++i) {
    // Integers may be made of what is not sound.
    const std::optional<Distance> pytorch = pytorch_distance(trial, i);
    const bool sound = floats(i) ? counts(i) : pytorch && pytorch->unequal == 0;
    trial.unsound.push_back(!sound);
    trial.in_domain |= sound;
  }
}

namespace {

// Sums of so many products in FP32 are off by this many times what a change of their factors makes of them.
double growth_of(double products) {
  constexpr double in_a_row = 256;
  return std::max(1.0, std::sqrt(products / in_a_row));
}

// By the longest sum that each value is a factor in.
std::map<ValueId, double> growths(const Graph& graph) {
  std::map<ValueId, double> out;
  for (const Node& node : graph.nodes) {
    const double products =
        cost(graph, node).matrix_flops / 2 / static_cast<double>(graph.type(node.results[0]).elements());
    for (ValueId id : node.operands)
      if (id != ValueId::none) out[id] = std::max(out[id], growth_of(products));
  }
  return out;
}

}  // namespace

Result<OracleAnswer> ask_oracle(const TaskGraph& task, const Tensors& parameters, const Tensors& inputs,
                                Numerics numerics, uint64_t seed, bool exact_inputs) {
  const Graph& graph = task.graph;
  Named known;
  STITCH_CHECK(add_known(graph, task.signature.parameters, parameters, known));
  STITCH_CHECK(add_known(graph, task.signature.inputs, inputs, known));
  std::vector<ValueId> wanted = graph.outputs;
  for (const Update& update : graph.updates) wanted.push_back(update.value);
  STITCH_TRY(std::vector<oracle::Tensor> exact, oracle::evaluate(graph, as_known(known), wanted));

  double unit = coarsest_rounding(graph, 0, graph.nodes.size(), numerics);
  // Products round what they read.
  const bool inputs_stay = exact_inputs && unit < 0x1p-20;
  // PyTorch's own error isn't known beside random numbers that are not its own.
  std::map<ValueId, double> growth;
  if (is_random(task.signature)) growth = growths(graph);
  for (auto& [id, tensor] : known)
    if (!inputs_stay || graph[id].role != Role::input)
      tensor = perturbed(tensor, unit * std::max(1.0, growth[id]), seed + index_of(id));
  STITCH_TRY(std::vector<oracle::Tensor> moved, oracle::evaluate(graph, as_known(known), wanted));

  OracleAnswer answer;
  for (size_t i = 0; i < exact.size(); ++i) {
    DType dtype = truth_dtype(exact[i].dtype());
    answer.truth.add({dtype, exact[i].shape(), {}}, exact[i].to_bytes(dtype));
    answer.sensitivity.push_back(accumulation * relative_change(moved[i], exact[i]));
  }
  return answer;
}

}  // namespace stitch::verifier
