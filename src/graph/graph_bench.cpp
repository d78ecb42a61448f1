// Reading and checking a graph, on ResNet-101. Goal: under 200 ms without weights.
#include <benchmark/benchmark.h>

#include "graph/cost.h"
#include "graph/text.h"

namespace stitch {
namespace {

class Builder {
 public:
  Graph graph;

  ValueId conv(ValueId x, int64_t filters, int64_t kernel, int64_t stride) {
    ValueId weight = parameter({filters, graph.type(x).shape[1], kernel, kernel});
    std::vector<int64_t> strides(2, stride), padding(2, kernel / 2), dilation(2, 1);
    return node(Op::conv, {x, weight}, {{"stride", strides}, {"padding", padding}, {"dilation", dilation}});
  }
  ValueId norm(ValueId x) {
    Shape channels = {graph.type(x).shape[1]};
    std::vector<ValueId> operands = {x, parameter(channels), parameter(channels), buffer(channels),
                                     buffer(channels)};
    auto results = *graph.add_node(Op::batch_norm, operands, {{"training", true}});
    graph.updates.push_back({operands[3], results[1]});
    graph.updates.push_back({operands[4], results[2]});
    return results[0];
  }
  ValueId bottleneck(ValueId x, int64_t width, int64_t stride) {
    ValueId y = relu(norm(conv(x, width, 1, 1)));
    y = relu(norm(conv(y, width, 3, stride)));
    y = norm(conv(y, width * 4, 1, 1));
    if (graph.type(x).shape != graph.type(y).shape) x = norm(conv(x, width * 4, 1, stride));
    return relu(node(Op::add, {x, y}, {}));
  }
  ValueId relu(ValueId x) { return node(Op::relu, {x}, {}); }
  ValueId node(Op op, std::vector<ValueId> operands, const Attributes& attributes) {
    return (*graph.add_node(op, std::move(operands), attributes, {},
                            "resnet101.py:83, in forward: x = self.layer(x)", "layer3.17"))[0];
  }
  ValueId parameter(const Shape& shape) {
    return graph.add_leaf(Role::parameter, "weight", {DType::f32, shape, {}}, "weight");
  }
  ValueId buffer(const Shape& shape) {
    return graph.add_leaf(Role::buffer, "running", {DType::f32, shape, {}}, "running");
  }
};

Graph resnet101() {
  Builder build;
  build.graph.name = "resnet101";
  ValueId x = build.graph.add_leaf(Role::input, "x", {DType::f32, {10, 3, 224, 224}, {}});
  x = build.relu(build.norm(build.conv(x, 64, 7, 2)));
  std::vector<int64_t> three(2, 3), two(2, 2), one(2, 1);
  x = build.node(Op::max_pool, {x},
                 {{"kernel", three}, {"stride", two}, {"padding", one}, {"dilation", one}});
  int64_t width = 64;
  for (int blocks : {3, 4, 23, 3}) {
    for (int i = 0; i < blocks; ++i) x = build.bottleneck(x, width, i == 0 && width > 64 ? 2 : 1);
    width *= 2;
  }
  x = build.node(Op::mean, {x}, {{"dims", std::vector<int64_t>{2, 3}}});
  x = build.node(Op::linear, {x, build.parameter({1000, 2048}), build.parameter({1000})}, {});
  build.graph.outputs = {x};
  return build.graph;
}

void load_and_verify(benchmark::State& state) {
  std::string text = print_graph(resnet101());
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(text));
  state.counters["nodes"] = static_cast<double>(resnet101().nodes.size());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(load_and_verify)->Unit(benchmark::kMillisecond);

void verify_only(benchmark::State& state) {
  Graph graph = resnet101();
  for (auto _ : state) benchmark::DoNotOptimize(bool(verify(graph)));
}
BENCHMARK(verify_only)->Unit(benchmark::kMillisecond);

void print_only(benchmark::State& state) {
  Graph graph = resnet101();
  for (auto _ : state) benchmark::DoNotOptimize(print_graph(graph));
}
BENCHMARK(print_only)->Unit(benchmark::kMillisecond);

void cost_of_all(benchmark::State& state) {
  Graph graph = resnet101();
  for (auto _ : state) benchmark::DoNotOptimize(cost(graph).peak_bytes);
}
BENCHMARK(cost_of_all)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stitch
