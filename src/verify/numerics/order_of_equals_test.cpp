#include "verify/numerics/order_of_equals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/text.h"

namespace stitch::verifier {

namespace {

// Two rows of four, the three largest of each.
std::vector<int64_t> accepted(const std::vector<int64_t>& named, int64_t expected) {
  oracle::Tensor ordered(DType::f32, {2, 4});
  const std::vector<double> values = {5, 7, 5, 5, 1, 2, 3, 4};
  std::ranges::copy(values, ordered.writable<double>());
  const std::vector<int64_t> exact = {1, 0, 2, 3, 2, 1};
  const TensorType type{DType::i64, {2, 3}, {}};
  int64_t count = -1;
  const std::vector<std::byte> bytes =
      truth_among_equals({type, std::as_bytes(std::span(named))}, {type, std::as_bytes(std::span(exact))},
                         {ordered, -1, {2, 3}, {0, 1, 2, 3, 4, 5}}, count);
  EXPECT_EQ(count, expected);
  std::vector<int64_t> out(6);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

TEST(OrderOfEquals, IsPromisedByAStableSortAlone) {
  auto graph = parse_graph(R"(graph "g"
input %x : f32[4]
%a, %i = sort(%x) dim=0 : f32[4], i64[4]
%b, %j = sort(%x) dim=0 stable=true : f32[4], i64[4]
%first = slice(%i) dim=0 start=0 end=2 : i64[2]
%narrow = cast(%first) dtype=i32 : i32[2]
%sum = add(%first, %first) : i64[2]
output %i
output %j
output %narrow
output %sum
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(ordering_of(*graph, graph->find("i")));
  EXPECT_FALSE(ordering_of(*graph, graph->find("j")));
  EXPECT_TRUE(ordering_of(*graph, graph->find("narrow")));
  EXPECT_FALSE(ordering_of(*graph, graph->find("sum")));
  EXPECT_TRUE(makes_use_of_positions(*graph));
}

TEST(OrderOfEquals, AnyOfEqualsWillDo) {
  EXPECT_EQ(accepted({1, 3, 0, 3, 2, 1}, 2), (std::vector<int64_t>{1, 3, 0, 3, 2, 1}));
}

TEST(OrderOfEquals, NoneIsNamedTwice) {
  EXPECT_EQ(accepted({1, 3, 3, 3, 2, 1}, 0), (std::vector<int64_t>{1, 0, 2, 3, 2, 1}));
}

TEST(OrderOfEquals, OthersAreWrong) {
  EXPECT_EQ(accepted({0, 1, 2, 2, 3, 1}, 0), (std::vector<int64_t>{1, 0, 2, 3, 2, 1}));
  EXPECT_EQ(accepted({1, 0, 9, 3, 2, -1}, 0), (std::vector<int64_t>{1, 0, 2, 3, 2, 1}));
}

}  // namespace stitch::verifier
