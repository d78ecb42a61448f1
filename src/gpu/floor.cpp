#include "gpu/floor.h"

namespace stitch {

namespace {

DType dtype_of(const Graph& graph, const Node& node) {
  ValueId id =
      !node.operands.empty() && node.operands[0] != ValueId::none ? node.operands[0] : node.results[0];
  return graph.type(id).dtype;
}

}  // namespace

double matrix_rate(const GpuSpec& gpu, Op op, DType dtype) {
  if (dtype == DType::f64) return gpu.fp64;
  if (dtype == DType::f16 || dtype == DType::bf16) return gpu.tensor_fp16;
  bool tf32_by_default = info(op).family == Family::convolution || op == Op::rnn;
  if (tf32_by_default) return gpu.tensor_fp16;
  const bool plain_product = op == Op::linear || op == Op::matmul || op == Op::einsum;
  return gpu.tensor_fp16 / (plain_product ? 2 : 3);
}

Floor floor_of(const Graph& graph, const GraphCost& cost, const GpuSpec& gpu) {
  Floor out;
  out.memory = cost.boundary_bytes / gpu.bandwidth;
  out.launch = gpu.launch_overhead;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const Cost& own = cost.nodes[n];
    DType dtype = dtype_of(graph, node);
    double other_rate = dtype == DType::f64 ? gpu.fp64 : gpu.fp32;
    NodeFloor floor;
    floor.memory = own.bytes / gpu.bandwidth;
    floor.compute =
        own.matrix_flops / matrix_rate(gpu, node.op, dtype) + (own.flops - own.matrix_flops) / other_rate;
    out.compute += floor.compute;
    out.alone += floor.seconds();
    out.nodes.push_back(floor);
  }
  return out;
}

}  // namespace stitch
