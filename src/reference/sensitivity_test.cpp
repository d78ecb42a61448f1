#include "reference/sensitivity.h"

#include <gtest/gtest.h>

#include "graph/text.h"

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

}  // namespace
}  // namespace stitch::verifier
