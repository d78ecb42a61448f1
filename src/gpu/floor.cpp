#include "gpu/floor.h"

#include <algorithm>

namespace stitch {

namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// What a product has to be computed in: of halves that were only converted to FP32, the halves.
class Precision {
 public:
  explicit Precision(const Graph& graph) : graph_(graph), made_by_(producers(graph)) {}

  DType of(const Node& node) const {
    if (node.operands.empty() || node.operands[0] == ValueId::none) return graph_.type(node.results[0]).dtype;
    const DType first = narrowest(node.operands[0]);
    const bool product = node.op == Op::matmul || node.op == Op::linear || node.op == Op::einsum;
    if (!product || !is_half(first)) return graph_.type(node.operands[0]).dtype;
    for (size_t i = 1; i < std::min<size_t>(node.operands.size(), 2); ++i)
      if (narrowest(node.operands[i]) != first) return graph_.type(node.operands[0]).dtype;
    return first;
  }

 private:
  // Behind conversions to wider floats, and views.
  DType narrowest(ValueId id) const {
    for (int32_t maker; (maker = made_by_[index_of(id)]) >= 0;) {
      const Node& node = graph_.node(maker);
      const bool widens = node.op == Op::cast && is_floating(graph_.type(id).dtype) &&
                          is_half(graph_.type(node.operands[0]).dtype);
      if (!widens && info(node.op).family != Family::view) break;
      id = node.operands[0];
    }
    return graph_.type(id).dtype;
  }

  const Graph& graph_;
  const std::vector<int32_t> made_by_;
};

// Values that depend on a leaf whose contents the graph doesn't know.
std::vector<bool> is_given(const Graph& graph) {
  std::vector<bool> out(graph.values.size(), false);
  for (ValueId id : graph.leaves()) out[index_of(id)] = graph[id].role != Role::constant;
  for (const Node& node : graph.nodes)
    for (ValueId id : node.operands)
      if (id != ValueId::none && out[index_of(id)])
        for (ValueId result : node.results) out[index_of(result)] = true;
  return out;
}

}  // namespace

double matrix_rate(const GpuSpec& gpu, Op op, DType dtype) {
  if (dtype == DType::f64) return gpu.fp64;
  if (is_half(dtype)) return gpu.tensor_fp16;
  bool tf32_by_default = info(op).family == Family::convolution || op == Op::rnn;
  if (tf32_by_default) return gpu.tensor_fp16;
  const bool plain_product = op == Op::linear || op == Op::matmul || op == Op::einsum;
  return gpu.tensor_fp16 / (plain_product ? 2 : 3);
}

Floor floor_of(const Graph& graph, const GraphCost& cost, const GpuSpec& gpu) {
  Floor out;
  const Precision precision(graph);
  const std::vector<bool> given = is_given(graph);
  out.memory = cost.boundary_bytes / gpu.bandwidth;
  out.launch = gpu.launch_overhead;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const Cost& own = cost.nodes[n];
    const DType dtype = precision.of(node);
    const double product = own.matrix_flops / matrix_rate(gpu, node.op, dtype);
    const double other = (own.flops - own.matrix_flops) / (dtype == DType::f64 ? gpu.fp64 : gpu.fp32);
    // By a matrix that the model makes of nothing, a Fourier transform's, there are faster ways.
    if (std::ranges::all_of(node.operands,
                            [&](ValueId id) { return id == ValueId::none || given[index_of(id)]; }))
      out.compute += product;
    NodeFloor floor;
    floor.memory = own.bytes / gpu.bandwidth;
    floor.compute = std::max(product, other);
    out.alone += floor.seconds();
    out.nodes.push_back(floor);
  }
  return out;
}

}  // namespace stitch
