// Every case that `python -m stitchcuda_torch.cases` made: PyTorch's export is lowered and cleaned,
// printed and parsed back, and run by the oracle, which must agree with PyTorch in float64.
// Needs PyTorch (./dev test makes the cases first); skips loudly without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "graph/safetensors.h"
#include "graph/text.h"
#include "import/aten_program.h"
#include "import/lowering.h"
#include "oracle/interpreter.h"
#include "passes/pipeline.h"
#include "passes/testdata/sample_limits.h"

namespace stitch {
namespace {

using oracle::Tensor;

struct Difference {
  double relative = 0;
  std::string reason;
};

// NaN and infinity must stand at the same places; integers must be equal.
Difference compare(const Tensor& got, const Tensor& expected) {
  if (got.shape() != expected.shape())
    return {1, format("shape {} instead of {}", text(got.shape()), text(expected.shape()))};
  if (!expected.floating()) {
    if (got.floating()) return {1, "floating-point instead of integers"};
    for (int64_t i = 0; i < expected.elements(); ++i)
      if (got.data<int64_t>()[i] != expected.data<int64_t>()[i])
        return {1,
                format("element {} is {}, not {}", i, got.data<int64_t>()[i], expected.data<int64_t>()[i])};
    return {};
  }
  double error = 0, norm = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    double a = got.data<double>()[i], b = expected.data<double>()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (std::isinf(b) && a == b) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return {1, format("element {} is {}, not {}", i, a, b)};
    error += (a - b) * (a - b);
    norm += b * b;
  }
  // A mean that is zero by construction is rounding noise on both sides.
  double noise = 1e-15 * std::sqrt(static_cast<double>(std::max<int64_t>(expected.elements(), 1)));
  if (std::sqrt(error) <= noise) return {};
  double relative = norm > 0 ? std::sqrt(error / norm) : 1;
  return {relative, format("relative error {:.2e}", relative)};
}

Result<Tensor> load(const Safetensors& file, const std::string& key) {
  const TensorBytes* tensor = file.find(key);
  if (!tensor) return user_error("case", format("no tensor '{}'", key));
  return Tensor::from_bytes(tensor->type.dtype, tensor->type.shape, tensor->bytes);
}

// One call, whose tensors' names in the case's files begin with `call`: the worst relative error over outputs
// and updates. What it changes is in `state` afterwards.
Result<double> check_call(const Graph& graph, oracle::Known& state, const Safetensors& inputs,
                          const Safetensors& expected, const std::string& call, double tolerance) {
  oracle::Known known = state;
  int index = 0;
  for (ValueId id : graph.inputs()) {
    STITCH_TRY(Tensor tensor, load(inputs, format("{}input.{}", call, index++)));
    known.emplace(id, std::move(tensor));
  }
  bool random = !graph.with_role(Role::seed).empty();
  for (ValueId id : graph.with_role(Role::seed)) known.emplace(id, Tensor::of(DType::i64, {}, {42}));

  std::vector<ValueId> wanted = graph.outputs;
  std::vector<std::string> keys;
  for (size_t i = 0; i < graph.outputs.size(); ++i) keys.push_back(format("{}output.{}", call, i));
  std::vector<ValueId> targets;
  for (const Update& update : graph.updates) {
    if (graph[update.target].role == Role::input) continue;
    wanted.push_back(update.value);
    targets.push_back(update.target);
    keys.push_back(format("{}update.{}", call, graph[update.target].name));
  }
  STITCH_TRY(std::vector<Tensor> results, oracle::evaluate(graph, std::move(known), wanted));
  size_t outputs = 0;
  for (const auto& [key, unused] : expected.tensors()) {
    outputs += key.starts_with(call + "output.");
    if (key.starts_with(call + "update.") && std::ranges::find(keys, key) == keys.end())
      return work_error("case", format("{} is missing", key));
  }
  if (outputs != graph.outputs.size())
    return work_error("case", format("{} outputs instead of {}", graph.outputs.size(), outputs));
  double worst = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    // A buffer written with what it held already is an update to us and none to PyTorch.
    if (!expected.find(keys[i]) && i >= outputs) {
      Difference same = compare(results[i], state.at(targets[i - outputs]));
      if (!same.reason.empty() && same.relative > tolerance)
        return work_error("case", format("{} changes something PyTorch does not: {}", keys[i], same.reason));
      continue;
    }
    STITCH_TRY(Tensor reference, load(expected, keys[i]));
    // Our random numbers are not PyTorch's: of a random model only the shapes can agree.
    Difference difference = compare(random ? reference : results[i], reference);
    if (random && results[i].shape() != reference.shape())
      return work_error("case", format("{} has another shape", keys[i]));
    worst = std::max(worst, difference.relative);
    if (difference.relative > tolerance)
      return work_error("case", format("{}: {}", keys[i], difference.reason));
  }
  for (size_t i = 0; i < targets.size(); ++i) state.insert_or_assign(targets[i], results[outputs + i]);
  return worst;
}

Result<double> check_case(const fs::path& folder, double tolerance) {
  STITCH_TRY(std::string aten, read_file(folder / "aten.json"));
  STITCH_TRY(AtenProgram program, read_aten(aten));
  STITCH_TRY(Graph graph, lower(program));
  run_pipeline(graph, cleanup_pipeline(), {.limits = sample_limits});
  std::string printed = print_graph(graph);
  STITCH_TRY(graph, parse_graph(printed));
  if (print_graph(graph) != printed)
    return work_error("case", "the graph's text does not parse back to itself");

  STITCH_TRY(Safetensors weights, Safetensors::open(folder / "weights.safetensors"));
  STITCH_TRY(Safetensors inputs, Safetensors::open(folder / "inputs.safetensors"));
  STITCH_TRY(Safetensors expected, Safetensors::open(folder / "expected.safetensors"));
  oracle::Known state;
  for (Role role : {Role::parameter, Role::buffer, Role::constant})
    for (ValueId id : graph.with_role(role)) {
      STITCH_TRY(Tensor tensor, load(weights, graph[id].data));
      state.emplace(id, std::move(tensor));
    }
  STITCH_TRY(double worst, check_call(graph, state, inputs, expected, "", tolerance));
  bool twice =
      std::ranges::any_of(expected.tensors(), [](auto& each) { return each.first.starts_with("again."); });
  if (!twice) return worst;
  STITCH_TRY(double again, check_call(graph, state, inputs, expected, "again.", tolerance));
  return std::max(worst, again);
}

TEST(TorchCases, OracleAgreesWithPyTorch) {
  const char* told = std::getenv("STITCHCUDA_CASES");
  fs::path root = told ? told : STITCH_BINARY_DIR "/../cases";
  std::error_code ec;
  if (!fs::is_directory(root, ec))
    GTEST_SKIP() << "no cases in " << root << ": run ./dev test on a machine with PyTorch";
  const char* only = std::getenv("STITCHCUDA_CASE");
  std::map<std::string, int> counts;
  double worst = 0;
  int total = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    std::string name = entry.path().filename().string();
    if (!fs::exists(entry.path() / "case.json") || (only && name.find(only) == std::string::npos)) continue;
    auto settings = read_file(entry.path() / "case.json");
    ASSERT_TRUE(settings) << name;
    auto json = parse_json(*settings);
    ASSERT_TRUE(json) << name;
    double tolerance = json->value("tolerance", 1e-10);
    Result<double> outcome = 0.0;
    try {
      outcome = check_case(entry.path(), tolerance);
    } catch (const std::exception& error) {
      outcome = work_error("case", error.what());
    }
    if (!outcome)
      ADD_FAILURE() << name << ": " << outcome.error().text();
    else
      worst = std::max(worst, *outcome);
    ++counts[name.substr(0, name.find('.'))];
    ++total;
  }
  for (const auto& [family, count] : counts) std::printf("%5d %s\n", count, family.c_str());
  std::printf("%5d cases agree or fail as listed, worst relative error %.1e\n", total, worst);
  EXPECT_GE(total, only ? 1 : 300);
}

}  // namespace
}  // namespace stitch
