// The floor: a lower bound on a graph's time on a GPU, from arithmetic and memory traffic of its inputs and
// outputs. It ignores intermediates, latency of recurrences and small shapes: a guide, not a promise.
//
// Numerics class `default`: convolutions and recurrences at the fp16 tensor rate (its 10 mantissa bits are
// those of the TF32 that PyTorch's cuDNN calls use by default); matrix products at half of it (an fp16
// product and an int8 product of twice the depth at twice the rate keep FP32's accuracy); attention at a
// third (three fp16 products). Products of halves that the model only widens to FP32 run at fp16's rate.
// Arithmetic means products: other operations wait for memory, or algebra makes products of them.
#pragma once

#include <vector>

#include "gpu/gpu_spec.h"
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
  double compute = 0;  // the nodes' products
  double launch = 0;
  double seconds() const { return (memory > compute ? memory : compute) + launch; }
  bool compute_bound() const { return compute > memory; }

  std::vector<NodeFloor> nodes;  // each node alone, without launch overhead
  double alone = 0;              // the sum of `nodes`
  double share(size_t node) const { return alone > 0 ? nodes[node].seconds() / alone : 0; }
};

// Operations per second for a node's matrix products.
double matrix_rate(const GpuSpec& gpu, Op op, DType dtype);

Floor floor_of(const Graph& graph, const GraphCost& cost, const GpuSpec& gpu);

}  // namespace stitch
