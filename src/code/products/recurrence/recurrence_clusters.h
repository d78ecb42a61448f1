// How a layer of a recurrence is distributed over clusters of blocks, by a model of its cycles.
#pragma once

#include <optional>

#include "code/products/recurrence/recurrence.h"
#include "gpu/gpu_spec.h"

namespace stitch::code {

struct Clusters {
  int64_t layers_at_once = 1;  // the others need separate launches
  int64_t blocks = 1;          // of a cluster: they share a layer's units
  int64_t samples = 1;         // per cluster

  double clocks = 0;  // expected, in total
};

// The fastest; empty if the weights don't fit into registers or the GPU has no clusters.
std::optional<Clusters> clusters_of(const Recurrence& recurrence, const GpuSpec& gpu);

}  // namespace stitch::code
