#include "verify/numerics/discontinuity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/text.h"

namespace stitch::verifier {
namespace {

constexpr int rows = 200, columns = 65;

// Sums of cents, times 100, rounded down: on a whole number or a rounding beside it.
Graph cents() {
  auto graph = parse_graph(R"(graph "cents"
input %x : f32[200,65]
%sum = sum(%x) dims=[1] : f32[200]
%hundred = full() shape=[] dtype=f32 value=100.0 : f32[]
%mul = mul(%sum, %hundred) : f32[200]
%floor = floor(%mul) : f32[200]
output %floor
end
)");
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
  return graph ? *std::move(graph) : Graph{};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

TEST(Discontinuity, AcceptsWhatFloat64GivesARoundingAway) {
  const Graph graph = cents();
  ASSERT_TRUE(has_discontinuity(graph));
  std::vector<float> x(rows * columns), backwards(rows);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 100) / 100;
  for (size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (size_t c = columns; c-- > 0;) sum += x[row * columns + c];
    backwards[row] = std::floor(sum * 100);
  }
  auto input = oracle::Tensor::from_bytes(DType::f32, {rows, columns}, bytes_of(x));
  ASSERT_TRUE(input);
  const oracle::Known known = {{graph.find("x"), *input}};
  auto exact = oracle::evaluate(graph, known, graph.outputs);
  ASSERT_TRUE(exact) << exact.error().text();
  auto variants = across_jumps(graph, known, graph.outputs, Numerics::standard, 7);
  ASSERT_TRUE(variants) << variants.error().text();
  std::vector<oracle::Tensor> others;
  for (std::vector<oracle::Tensor>& variant : *variants) others.push_back(std::move(variant[0]));

  const std::vector<std::byte> truth_bytes = (*exact)[0].to_bytes(DType::f64);
  const TensorBytes truth{{DType::f64, {rows}, {}}, truth_bytes};
  auto passes = [&](const std::vector<float>& values, int64_t& count) {
    const std::vector<std::byte> bytes = bytes_of(values);
    const TensorBytes got{{DType::f32, {rows}, {}}, bytes};
    const std::vector<std::byte> accepted = truth_at_jumps(got, truth, others, 0.01, count);
    return distance(got, {truth.type, accepted}).largest == 0;
  };
  int64_t count = 0;
  EXPECT_TRUE(passes(backwards, count));
  EXPECT_GT(count, 0) << "no sum fell on the other side: the test tests nothing";
  // Two lower is no rounding's doing.
  backwards[50] -= 2;
  EXPECT_FALSE(passes(backwards, count));
}

TEST(Discontinuity, IsNoneWhereInputsAreExact) {
  auto graph =
      parse_graph("graph \"g\"\ninput %x : f32[4]\n%floor = floor(%x) : f32[4]\noutput %floor\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_FALSE(has_discontinuity(*graph));
}

// By the largest of a row, which is 127 beside numbers of many bits: 2.5 is a half, and nothing else.
TEST(Discontinuity, QuotientsOfFewBitsAreExact) {
  auto graph = parse_graph(R"(graph "g"
input %x : f32[1,4]
%m = amax(%x) dims=[1] keepdim=true : f32[1,1]
%most = full() shape=[] dtype=f32 value=127.0 : f32[]
%s = div(%m, %most) : f32[1,1]
%q = div(%x, %s) : f32[1,4]
%y = round(%q) : f32[1,4]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  for (float largest : {127.0F, 126.7F}) {
    auto input = oracle::Tensor::from_bytes(
        DType::f32, {1, 4}, bytes_of<float>({largest, 2.5F * (largest / 127), 0.3F, 0.1234567F}));
    ASSERT_TRUE(input);
    auto variants = across_jumps(*graph, {{graph->find("x"), *input}}, graph->outputs, Numerics::standard, 7);
    ASSERT_TRUE(variants) << variants.error().text();
    const bool moves = std::ranges::any_of(
        *variants, [](const auto& variant) { return variant[0].template data<double>()[1] != 2; });
    EXPECT_EQ(moves, largest != 127) << largest;
  }
}

TEST(Integers, AreComparedAsIntegers) {
  const int64_t large = (int64_t{1} << 53) + 1;
  const std::vector<std::byte> truth = bytes_of<int64_t>({large, 3}),
                               near = bytes_of<int64_t>({large - 1, 3});
  const TensorType type{DType::i64, {2}, {}};
  EXPECT_EQ(distance({type, near}, {type, truth}).unequal, 1);
  EXPECT_EQ(distance({type, truth}, {type, truth}).unequal, 0);
  const TensorBytes pytorch{type, near};
  const std::vector<std::byte> other = bytes_of<int64_t>({large - 2, 3});
  EXPECT_FALSE(compare({type, other}, {type, truth}, &pytorch, {}).passed);
}

}  // namespace
}  // namespace stitch::verifier
