#include "graph/cost.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

ValueId one(Result<std::vector<ValueId>> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().text());
  return (*result)[0];
}

TensorType f32(Shape shape) { return {DType::f32, std::move(shape), {}}; }

// relu(x w^T + b): x (4, 8), w (16, 8), b (16)
Graph layer() {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({4, 8}));
  ValueId w = graph.add_leaf(Role::parameter, "w", f32({16, 8}), "w");
  ValueId b = graph.add_leaf(Role::parameter, "b", f32({16}), "b");
  ValueId y = one(graph.add_node(Op::linear, {x, w, b}));
  graph.outputs = {one(graph.add_node(Op::relu, {y}))};
  return graph;
}

TEST(GraphCost, AddsUpByHand) {
  GraphCost c = cost(layer());
  ASSERT_EQ(c.nodes.size(), 2u);
  EXPECT_EQ(c.nodes[0].matrix_flops, 2.0 * 4 * 16 * 8);
  EXPECT_EQ(c.total.flops, 2.0 * 4 * 16 * 8 + 4 * 16 /* bias */ + 4 * 16 /* relu */);
  EXPECT_EQ(c.total.bytes, 4.0 * (32 + 128 + 16 + 64) + 4.0 * (64 + 64));
  EXPECT_EQ(c.boundary_bytes, 4.0 * (32 + 128 + 16 + 64));
  EXPECT_EQ(c.parameters, 128 + 16);
  EXPECT_EQ(c.leaf_bytes, 4 * (32 + 128 + 16));
  // linear's result is live while relu's is computed.
  EXPECT_EQ(c.peak_bytes, c.leaf_bytes + 4 * (64 + 64));
}

TEST(GraphCost, TiedParametersCountOnce) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({4, 8}));
  ValueId w = graph.add_leaf(Role::parameter, "w", f32({8, 8}), "w");
  ValueId tied = graph.add_leaf(Role::parameter, "tied", f32({8, 8}), "w");
  ValueId y = one(graph.add_node(Op::linear, {x, w}));
  graph.outputs = {one(graph.add_node(Op::linear, {y, tied}))};
  GraphCost c = cost(graph);
  EXPECT_EQ(c.parameters, 64);
  EXPECT_EQ(c.leaf_bytes, 4 * (32 + 64));
  EXPECT_EQ(c.boundary_bytes, 4.0 * (32 + 64 + 32));
}

TEST(GraphCost, ViewsTakeNoMemoryAndKeepTheirOperandAlive) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({100}));
  ValueId a = one(graph.add_node(Op::exp, {x}));
  ValueId v = one(graph.add_node(Op::reshape, {a}, {{"shape", std::vector<int64_t>{10, 10}}}));
  ValueId b = one(graph.add_node(Op::neg, {x}));
  ValueId c = one(graph.add_node(Op::abs, {b}));
  ValueId s = one(graph.add_node(Op::sum, {v}));
  ValueId t = one(graph.add_node(Op::sum, {c}));
  graph.outputs = {one(graph.add_node(Op::add, {s, t}))};
  // x; and a (through v), b, c at once while c is computed.
  EXPECT_EQ(cost(graph).peak_bytes, 400 + 3 * 400);
  graph.outputs = {v};
  EXPECT_EQ(cost(graph).peak_bytes, 400 + 3 * 400);
}

TEST(GraphCost, DeadResultsAreFreedAtOnceAndOutputsAreNot) {
  auto chain = [](bool keep) {
    Graph graph;
    ValueId x = graph.add_leaf(Role::input, "x", f32({100}));
    for (int i = 0; i < 5; ++i) {
      ValueId y = one(graph.add_node(Op::exp, {x}));
      if (keep) graph.outputs.push_back(y);
    }
    return cost(graph).peak_bytes;
  };
  EXPECT_EQ(chain(false), 400 + 400);
  EXPECT_EQ(chain(true), 400 + 5 * 400);
}

TEST(GraphCost, BuffersUpdatesAndUnusedLeaves) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({2, 3, 4}));
  graph.add_leaf(Role::input, "unused", f32({1000}));
  ValueId m = graph.add_leaf(Role::buffer, "m", f32({3}), "m");
  ValueId v = graph.add_leaf(Role::buffer, "v", f32({3}), "v");
  auto r = graph.add_node(Op::batch_norm, {x, ValueId::none, ValueId::none, m, v}, {{"training", true}});
  ASSERT_TRUE(r);
  graph.outputs = {(*r)[0]};
  graph.updates = {{m, (*r)[1]}, {v, (*r)[2]}};
  GraphCost c = cost(graph);
  EXPECT_EQ(c.boundary_bytes, 4.0 * (24 + 3 + 3) + 4.0 * (24 + 3 + 3));
  EXPECT_EQ(c.parameters, 0);
  EXPECT_EQ(c.peak_bytes, 4 * (24 + 1000 + 3 + 3) + 4 * (24 + 3 + 3));
}

TEST(GraphCost, OfATableOnlyTheRowsLookedUpAreRead) {
  Graph graph;
  ValueId table = graph.add_leaf(Role::parameter, "table", f32({50000, 64}), "table");
  ValueId token = graph.add_leaf(Role::input, "token", {DType::i64, {4, 64}, {}});
  graph.outputs = {one(graph.add_node(Op::gather, {table, token}, {{"dim", int64_t{0}}}))};
  EXPECT_EQ(cost(graph).boundary_bytes, 4.0 * 256 + 8.0 * 256 + 4.0 * 256);
}

TEST(GraphCost, NothingCostsNothing) {
  GraphCost c = cost(Graph{});
  EXPECT_EQ(c.total.flops, 0);
  EXPECT_EQ(c.boundary_bytes, 0);
  EXPECT_EQ(c.peak_bytes, 0);
}

}  // namespace
}  // namespace stitch
