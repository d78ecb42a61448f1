// What PyTorch is expected to take for the same graph on the same GPU, by the cost model that plans are
// estimated with: a kernel for each operator, at the rates that libraries reach. That is in PyTorch's favour:
// conversions of layouts, biases in kernels of their own, what the graph's passes removed and what depends on
// weights alone (passes fold norms into filters by such nodes) are not counted.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/context.h"

namespace stitch::plan {

struct PyTorchEstimate {
  struct Operator {
    size_t node = 0;
    int kernels = 1;
    double start = 0, seconds = 0;  // of its kernels on the device, in eager mode
  };
  std::vector<Operator> operators;
  double eager = 0;        // seconds a call: the host dispatches each operator
  double eager_graph = 0;  // the same kernels replayed as one CUDA graph

  bool known() const { return eager_graph > 0; }
};
PyTorchEstimate estimate_pytorch(const Graph& graph, const GpuSpec& gpu, Numerics numerics);

// {"eager": 0.00025, "eager-graph": 0.00007}: by the names that measured baselines have.
Json to_json(const PyTorchEstimate& estimate);

}  // namespace stitch::plan
