// The floor: the time below which no program of this graph can go on a GPU, as far as arithmetic and
// memory traffic at its borders say. It knows nothing of intermediates, of the latency of recurrences or
// of small shapes: a compass needle, not a promise.
//
// Numerics class `default`: convolutions and recurrences may run at the fp16 tensor rate (its 10 mantissa
// bits are those of the TF32 that PyTorch's cuDNN calls use by default); matrix products at half of it
// (one product of fp16 and one of int8 of twice the depth at twice the rate keep FP32's accuracy), attention
// at a third (three products of fp16).
#pragma once

#include <vector>

#include "device/gpu_spec.h"
#include "graph/cost.h"

namespace stitch {

struct NodeFloor {
  double memory = 0;   // seconds to move its operands and results
  double compute = 0;  // seconds to compute it
  double seconds() const { return memory > compute ? memory : compute; }
  bool compute_bound() const { return compute > memory; }
};

struct Floor {
  double memory = 0;   // boundary bytes / bandwidth
  double compute = 0;  // the nodes' arithmetic
  double launch = 0;
  double seconds() const { return (memory > compute ? memory : compute) + launch; }
  bool compute_bound() const { return compute > memory; }

  std::vector<NodeFloor> nodes;  // each node alone, without the launch
  double alone = 0;              // their sum, which their shares are of
  double share(size_t node) const { return alone > 0 ? nodes[node].seconds() / alone : 0; }
};

// Operations per second for a node's matrix products.
double matrix_rate(const GpuSpec& gpu, Op op, DType dtype);

Floor floor_of(const Graph& graph, const GraphCost& cost, const GpuSpec& gpu);

}  // namespace stitch
