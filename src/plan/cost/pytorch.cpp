#include "plan/cost/pytorch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/cost.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"

namespace stitch::plan {

namespace {

// Of the host, for each kernel that eager PyTorch launches: 6 to 22 us in seven of the nine models without a
// recurrence in docs/python.md ("What a call costs"), and more where attention takes many operators.
constexpr double dispatch = 10e-6;

// Operations per second of PyTorch's matrix products and convolutions in a class: cuBLAS and cuDNN.
double library_rate(const GpuSpec& gpu, const Node& node, DType dtype, Numerics numerics) {
  const bool convolution = info(node.op).family == Family::convolution;
  const bool half = dtype == DType::f16 || dtype == DType::bf16 || numerics == Numerics::half;
  if (dtype == DType::f64) return gpu.fp64;
  if (half) return convolution ? gpu.fp16_convolutions : gpu.fp16_long_products;
  if (convolution && numerics != Numerics::strict) return gpu.tf32_convolutions;
  return numerics == Numerics::tf32 ? gpu.tf32_products : gpu.fp32_products;
}

// A recurrence is a chain of steps in every layer and direction; everything else is one kernel.
int kernels_of(const Graph& graph, const Node& node) {
  if (node.op != Op::rnn) return 1;
  const Shape &x = graph.type(node.operands[0]).shape, &hidden = graph.type(node.operands[1]).shape;
  const int64_t row = std::max<int64_t>(x.back() * hidden[hidden.size() - 2], 1);
  return static_cast<int>(std::max<int64_t>(hidden[0] * (graph.type(node.operands[0]).elements() / row), 1));
}

}  // namespace

PyTorchEstimate estimate_pytorch(const Graph& graph, const GpuSpec& gpu, Numerics numerics) {
  PyTorchEstimate out;
  const GraphCost cost = stitch::cost(graph);
  const std::set<ValueId> constants = constant_values(graph);
  double host = 0, device = 0, busy = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Cost& own = cost.nodes[n];
    if (own.bytes <= 0 && own.flops <= 0) continue;  // a view
    const Node& node = graph.nodes[n];
    if (constants.contains(node.results[0])) continue;
    const bool has_operand = !node.operands.empty() && node.operands[0] != ValueId::none;
    const DType dtype = graph.type(has_operand ? node.operands[0] : node.results[0]).dtype;
    const int kernels = kernels_of(graph, node);
    const double seconds =
        estimate(gpu, {.bytes = own.bytes, .flops = own.flops, .matrix = own.matrix_flops},
                 {library_rate(gpu, node, dtype, numerics), streaming_share, static_cast<double>(kernels)})
            .seconds();
    // The device starts the first kernel as soon as it is launched, and waits where the host is slower.
    host += dispatch;
    const double start = std::max(host, device);
    host += dispatch * (kernels - 1);
    device = std::max(start + seconds, host);
    busy += seconds;
    out.operators.push_back({n, kernels, start, seconds});
  }
  out.eager = gpu.launch_overhead + device;
  out.eager_graph = gpu.launch_overhead + busy;
  return out;
}

Json to_json(const PyTorchEstimate& estimate) {
  return {{"eager", estimate.eager}, {"eager-graph", estimate.eager_graph}};
}

}  // namespace stitch::plan
