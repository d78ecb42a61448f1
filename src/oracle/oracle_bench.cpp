// The share of OpenBLAS's dgemm rate that the interpreter's products reach ("of dgemm").
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "oracle/blas.h"
#include "oracle/interpreter.h"

namespace stitch::oracle {
namespace {

constexpr int64_t size = 1024;

Tensor noise(const Shape& shape) {
  Tensor out(DType::f64, shape);
  double* y = out.writable<double>();
  uint64_t state = 1;
  for (int64_t i = 0; i < out.elements(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    y[i] = static_cast<double>(state >> 40) * 0x1p-24 - 0.5;
  }
  return out;
}

void multiply_square(GemmLibrary library, const Tensor& a, const Tensor& b, std::vector<double>& c) {
  Gemm shape{.m = size, .n = size, .k = size, .stride_a = size, .stride_b = size, .stride_c = size};
  if (library == GemmLibrary::blocked)
    blocked_gemm(shape, a.data<double>(), b.data<double>(), c.data());
  else
    gemm(shape, a.data<double>(), b.data<double>(), c.data());
}

// GFLOP/s of gemm alone at 1024^3, best of five: the reference.
double reference_rate() {
  static const double rate = [] {
    Tensor a = noise({size, size}), b = noise({size, size});
    std::vector<double> c(size * size);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      auto start = std::chrono::steady_clock::now();
      multiply_square(gemm_library(), a, b, c);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return 2.0 * size * size * size / best / 1e9;
  }();
  return rate;
}

void report(benchmark::State& state, double flops, double seconds) {
  double rate = flops * static_cast<double>(state.iterations()) / seconds / 1e9;
  state.counters["GFLOP/s"] = rate;
  state.counters["of dgemm"] = rate / reference_rate();
}

template <class Body>
void measure(benchmark::State& state, double flops, const Body& body) {
  reference_rate();
  auto start = std::chrono::steady_clock::now();
  for (auto _ : state) body();
  report(state, flops, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

// One node on random inputs.
void measure_node(benchmark::State& state, Op op, const std::vector<Shape>& shapes,
                  const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> ids;
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> operands;
  for (const Shape& shape : shapes) {
    ids.push_back(graph.add_leaf(Role::input, "x", {DType::f64, shape, {}}));
    tensors.push_back(noise(shape));
  }
  for (const Tensor& tensor : tensors) operands.push_back(&tensor);
  auto results = graph.add_node(op, ids, attributes);
  require(static_cast<bool>(results), "the benchmark's node is right");
  const Node& node = graph.nodes[0];
  operands.resize(node.operands.size(), nullptr);
  measure(state, cost(graph, node).flops, [&] {
    auto outcome = evaluate_node(graph, node, operands);
    benchmark::DoNotOptimize(outcome);
  });
}

void gemm_library_1024(benchmark::State& state) {
  Tensor a = noise({size, size}), b = noise({size, size});
  std::vector<double> c(size * size);
  measure(state, 2.0 * size * size * size, [&] { multiply_square(gemm_library(), a, b, c); });
}
BENCHMARK(gemm_library_1024)->Unit(benchmark::kMillisecond)->UseRealTime();

void gemm_blocked_1024(benchmark::State& state) {
  Tensor a = noise({size, size}), b = noise({size, size});
  std::vector<double> c(size * size);
  measure(state, 2.0 * size * size * size, [&] { multiply_square(GemmLibrary::blocked, a, b, c); });
}
BENCHMARK(gemm_blocked_1024)->Unit(benchmark::kMillisecond)->UseRealTime();

void matmul_1024(benchmark::State& state) {
  measure_node(state, Op::matmul, {{size, size}, {size, size}}, {});
}
BENCHMARK(matmul_1024)->Unit(benchmark::kMillisecond)->UseRealTime();

void matmul_batch_64x128(benchmark::State& state) {
  measure_node(state, Op::matmul, {{64, 128, 128}, {64, 128, 128}}, {});
}
BENCHMARK(matmul_batch_64x128)->Unit(benchmark::kMillisecond)->UseRealTime();

Attributes window(int64_t stride, int64_t padding, int64_t groups = 1) {
  return {{"stride", std::vector<int64_t>{stride, stride}},
          {"padding", std::vector<int64_t>{padding, padding}},
          {"dilation", std::vector<int64_t>{1, 1}},
          {"groups", groups}};
}

void conv_3x3_56(benchmark::State& state) {
  measure_node(state, Op::conv, {{4, 64, 56, 56}, {64, 64, 3, 3}}, window(1, 1));
}
BENCHMARK(conv_3x3_56)->Unit(benchmark::kMillisecond)->UseRealTime();

void conv_3x3_7(benchmark::State& state) {
  measure_node(state, Op::conv, {{4, 512, 7, 7}, {512, 512, 3, 3}}, window(1, 1));
}
BENCHMARK(conv_3x3_7)->Unit(benchmark::kMillisecond)->UseRealTime();

void conv_1x1_56(benchmark::State& state) {
  measure_node(state, Op::conv, {{4, 64, 56, 56}, {256, 64, 1, 1}}, window(1, 0));
}
BENCHMARK(conv_1x1_56)->Unit(benchmark::kMillisecond)->UseRealTime();

void conv_depthwise_56(benchmark::State& state) {
  measure_node(state, Op::conv, {{4, 128, 56, 56}, {128, 1, 3, 3}}, window(1, 1, 128));
}
BENCHMARK(conv_depthwise_56)->Unit(benchmark::kMillisecond)->UseRealTime();

void conv_transpose_28(benchmark::State& state) {
  Attributes attributes = window(2, 1);
  attributes.set("output_padding", std::vector<int64_t>{1, 1});
  measure_node(state, Op::conv_transpose, {{4, 128, 28, 28}, {128, 64, 3, 3}}, attributes);
}
BENCHMARK(conv_transpose_28)->Unit(benchmark::kMillisecond)->UseRealTime();

void attention_512(benchmark::State& state) {
  measure_node(state, Op::attention, {{2, 8, 512, 64}, {2, 8, 512, 64}, {2, 8, 512, 64}}, {{"scale", 0.125}});
}
BENCHMARK(attention_512)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace stitch::oracle
