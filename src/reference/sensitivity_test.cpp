#include "reference/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/testdata/must.h"
#include "base/text.h"
#include "graph/text.h"
#include "reference/reference.h"

namespace stitch::verifier {
namespace {

// A bias that is taken off again: nothing is left of it in float64, and in FP32 its rounding is.
TEST(Sensitivity, CountsWhatIsRoundedBetween) {
  auto graph = parse_graph(R"(graph "cancels"
input %x : f32[64]
input %bias : f32[64]
%add = add(%x, %bias) : f32[64]
%sub = sub(%add, %bias) : f32[64]
output %sub
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  constexpr double faint = 1e-6;
  oracle::Tensor x(DType::f32, {64}), bias(DType::f32, {64});
  for (int i = 0; i < 64; ++i) {
    x.writable<double>()[i] = faint * (i + 1);
    bias.writable<double>()[i] = 1;
  }
  oracle::Known known = {{graph->find("x"), x}, {graph->find("bias"), bias}};
  const std::vector<ValueId> writes = {graph->find("sub")};
  auto exact = oracle::evaluate(*graph, known, writes);
  auto between = rounded_between(*graph, {"add", "sub"}, known, writes);
  ASSERT_TRUE(exact && between);
  EXPECT_GT(relative_change((*between)[0], (*exact)[0]), 1e-3);
  for (auto& [id, tensor] : known) tensor = perturbed(tensor, 0x1p-22, 1);
  auto moved = oracle::evaluate(*graph, known, writes);
  ASSERT_TRUE(moved);
  EXPECT_LT(relative_change((*moved)[0], (*exact)[0]), 1e-5);
}

// What a region writes is judged as it is: no room for a last rounding of it.
TEST(Sensitivity, LeavesResultsAsTheyAre) {
  auto graph = parse_graph(R"(graph "doubles"
input %x : f32[8]
%add = add(%x, %x) : f32[8]
output %add
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  oracle::Tensor x(DType::f32, {8});
  for (int i = 0; i < 8; ++i) x.writable<double>()[i] = i + 1;
  const oracle::Known known = {{graph->find("x"), x}};
  const std::vector<ValueId> writes = {graph->find("add")};
  auto exact = oracle::evaluate(*graph, known, writes);
  auto between = rounded_between(*graph, {"add"}, known, writes);
  ASSERT_TRUE(exact && between);
  EXPECT_EQ(relative_change((*between)[0], (*exact)[0]), 0);
}

// Numbers of one sign by weights of both, added up one after the other. Beside a dropout there is no PyTorch
// to show how far off that is.
TEST(Sensitivity, LeavesRoomForLongSumsBesideRandomNumbers) {
  constexpr int64_t depth = 16384, rows = 4, columns = 8;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> of_input(0, 100), of_weight(-0.01F, 0.01F);
  std::vector<float> x(rows * depth), w(columns * depth);
  for (float& each : x) each = of_input(random);
  for (float& each : w) each = of_weight(random);
  auto bytes = [](const auto& values) {
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    return std::vector<std::byte>(begin, begin + values.size() * sizeof(values[0]));
  };
  Tensors parameters;
  parameters.add({DType::f32, {columns, depth}, {}}, bytes(w));
  auto budget = [&](bool is_random) {
    auto task = std::make_shared<Task>();
    task->graph =
        must(parse_graph(format("graph \"deep\"\nparameter %w : f32[{1},{2}]\ninput %x : f32[{0},{2}]\n"
                                "{3}%y = linear(%x, %w) : f32[{0},{1}]\noutput %y\nend\n",
                                rows, columns, depth, is_random ? "seed %seed : i64[]\n" : "")));
    Tensors inputs;
    inputs.add({DType::f32, {rows, depth}, {}}, bytes(x));
    if (is_random) inputs.add({DType::i64, {}, {}}, bytes(std::vector<int64_t>{1}));
    return must(ask_oracle(TaskGraph(task), parameters, inputs, Numerics::standard, 1)).sensitivity[0];
  };
  double error = 0, size = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float sum = 0;
      double exact = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const float product = x[r * depth + k] * w[c * depth + k];
        sum += product;
        exact += static_cast<double>(x[r * depth + k]) * static_cast<double>(w[c * depth + k]);
      }
      error += (sum - exact) * (sum - exact);
      size += exact * exact;
    }
  const double off_by = std::sqrt(error / size);
  EXPECT_GT(off_by, budget(false));
  EXPECT_LT(off_by, budget(true));
  EXPECT_GT(10 * off_by, budget(true));
}

}  // namespace
}  // namespace stitch::verifier
