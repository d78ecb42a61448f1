#include <gtest/gtest.h>

#include <set>

#include "graph/graph.h"
#include "graph/op.h"

namespace stitch {
namespace {

TEST(Registry, EveryOpIsDescribed) {
  std::set<std::string_view> names;
  for (const OpInfo& op : all_ops()) {
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_FALSE(op.doc.empty()) << op.name;
    EXPECT_TRUE(op.infer && op.cost) << op.name;
    EXPECT_EQ(find_op(op.name), &op);
    // Optional operands come after required ones, a variadic one last.
    for (size_t i = 1; i < op.operands.size(); ++i)
      EXPECT_GE(op.operands[i].kind, op.operands[i - 1].kind) << op.name;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(op_count));
}

TEST(Registry, ConvolutionFlopsAreTwoAMultiplication) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", {DType::f32, {2, 3, 8, 8}, {}});
  ValueId w = graph.add_leaf(Role::parameter, "w", {DType::f32, {4, 3, 3, 3}, {}}, "w");
  std::vector<int64_t> one = {1, 1};
  auto y = graph.add_node(Op::conv, {x, w}, {{"stride", one}, {"padding", one}, {"dilation", one}});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ(cost(graph, graph.nodes[0]).matrix_flops, 2.0 * (2 * 4 * 8 * 8) * (3 * 3 * 3));
}

TEST(Registry, BroadcastFollowsNumpy) {
  EXPECT_EQ(*broadcast({3, 1}, {2, 1, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(*broadcast({}, {0}), (Shape{0}));
  EXPECT_FALSE(broadcast({2}, {3}));
}

TEST(Registry, AttributesAreCheckedAndCompleted) {
  const OpInfo& softplus = info(Op::softplus);
  EXPECT_EQ(complete(softplus, {})->number("threshold"), 20.0);
  EXPECT_EQ(complete(softplus, {{"beta", int64_t{2}}})->number("beta"), 2.0);
  EXPECT_EQ(complete(softplus, {{"bate", 2.0}}).error().message,
            "softplus has no attribute 'bate', only beta, threshold");
  EXPECT_EQ(complete(softplus, {{"beta", true}}).error().message,
            "softplus's attribute 'beta' is a number, not a flag");
}

}  // namespace
}  // namespace stitch
