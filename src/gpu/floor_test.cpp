#include "gpu/floor.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

ValueId one(Result<std::vector<ValueId>> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().text());
  return (*result)[0];
}

TensorType f32(Shape shape) { return {DType::f32, std::move(shape), {}}; }

Floor floor_on_h200(const Graph& graph) { return floor_of(graph, cost(graph), *find_gpu("H200")); }

// KernelBench level 1, task 1 (4096 cubed): 137 Gflop at half of 757 TFLOP/s, and a launch.
TEST(Floor, SquareMatmulOfKernelBench) {
  Graph graph;
  ValueId a = graph.add_leaf(Role::input, "A", f32({4096, 4096}));
  ValueId b = graph.add_leaf(Role::input, "B", f32({4096, 4096}));
  graph.outputs = {one(graph.add_node(Op::matmul, {a, b}))};
  Floor floor = floor_on_h200(graph);
  EXPECT_TRUE(floor.compute_bound());
  EXPECT_NEAR(floor.seconds() * 1e3, 0.367, 0.001);
  EXPECT_TRUE(floor.nodes[0].compute_bound());
  EXPECT_DOUBLE_EQ(floor.share(0), 1);
}

// Task 5 (matrix times scalar, 16384 x 65536 floats in, as many out): 2.006 ms there.
TEST(Floor, ScalingIsBoundByMemory) {
  Graph graph;
  ValueId a = graph.add_leaf(Role::input, "A", f32({16384 * 4, 16384}));
  graph.outputs = {one(graph.add_node(Op::neg, {a}))};
  Floor floor = floor_on_h200(graph);
  EXPECT_FALSE(floor.compute_bound());
  EXPECT_NEAR(floor.seconds() * 1e3, 2.006, 0.001);
}

TEST(Floor, RatesFollowTheDefaultClass) {
  GpuSpec gpu = *find_gpu("H200");
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::conv, DType::f32), 757e12);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::conv_transpose, DType::f32), 757e12);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::rnn, DType::f32), 757e12);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::linear, DType::f32), 757e12 / 2);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::attention, DType::f32), 757e12 / 3);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::matmul, DType::bf16), 757e12);
  EXPECT_DOUBLE_EQ(matrix_rate(gpu, Op::matmul, DType::f64), 33.5e12);
}

TEST(Floor, WidenedHalvesAreMultipliedAsHalves) {
  auto product = [](DType first, DType second) {
    Graph graph;
    auto widened = [&](const char* name, DType dtype) {
      const ValueId x = graph.add_leaf(Role::input, name, {dtype, {4096, 4096}, {}});
      const ValueId turned = one(graph.add_node(Op::permute, {x}, {{"dims", std::vector<int64_t>{1, 0}}}));
      return dtype == DType::f32 ? turned : one(graph.add_node(Op::cast, {turned}, {{"dtype", DType::f32}}));
    };
    graph.outputs = {one(graph.add_node(Op::matmul, {widened("a", first), widened("b", second)}))};
    return floor_on_h200(graph).compute * 1e3;
  };
  EXPECT_NEAR(product(DType::bf16, DType::bf16), 0.1815, 0.001);
  EXPECT_NEAR(product(DType::bf16, DType::f16), 0.363, 0.001) << "no instruction takes both";
  EXPECT_NEAR(product(DType::f32, DType::bf16), 0.363, 0.001);
}

TEST(Floor, OnlyProductsOfGivenMatricesAreArithmetic) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({256, 256}));
  ValueId y = one(graph.add_node(Op::matmul, {x, x}));
  const double product = floor_on_h200(graph).compute;
  const ValueId line = one(graph.add_node(Op::iota, {}, {{"size", int64_t{256}}, {"dtype", DType::f32}}));
  const ValueId waves = one(graph.add_node(Op::expand, {one(graph.add_node(Op::sin, {line}))},
                                           {{"shape", std::vector<int64_t>{256, 256}}}));
  y = one(graph.add_node(Op::neg, {one(graph.add_node(Op::matmul, {y, waves}))}));
  graph.outputs = {y};
  EXPECT_GT(product, 0);
  EXPECT_DOUBLE_EQ(floor_on_h200(graph).compute, product);
}

TEST(Floor, NodesAddUpToOne) {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", f32({1024, 1024}));
  ValueId y = one(graph.add_node(Op::exp, {x}));
  ValueId v = one(graph.add_node(Op::reshape, {y}, {{"shape", std::vector<int64_t>{1024 * 1024}}}));
  graph.outputs = {one(graph.add_node(Op::sum, {v}))};
  Floor floor = floor_on_h200(graph);
  EXPECT_EQ(floor.share(1), 0) << "a view is free";
  EXPECT_DOUBLE_EQ(floor.share(0) + floor.share(2), 1);
  // Together they move less than each alone: exp's result needn't reach memory.
  EXPECT_LT(floor.memory, floor.alone);
  EXPECT_NEAR(floor.memory, 4.0 * (1024 * 1024 + 1) / 4.29e12, 1e-12);
}

TEST(Floor, AnEmptyGraphIsOneLaunch) { EXPECT_DOUBLE_EQ(floor_on_h200(Graph{}).seconds(), 4e-6); }

}  // namespace
}  // namespace stitch
