// How a persistent recurrence is distributed over a GPU: which blocks own which units, and which warps fetch.
#pragma once

#include <optional>

#include "code/products/recurrence/recurrence.h"
#include "gpu/gpu_spec.h"

namespace stitch::code {

struct Spread {
  int64_t layers_at_once = 1;  // the others need separate launches
  int64_t samples = 1;         // per block
  int64_t units = 1;           // per block
  int64_t units_each = 1;      // per thread
  int64_t slices = 32;         // lanes that share a unit's sum over its features
  int64_t state_warps = 1, input_warps = 1;

  double clocks = 0;  // expected, in total

  int64_t blocks(const Recurrence& recurrence) const;
};

// The fastest by a model of its cycles; empty if the weights don't fit into the GPU's registers.
std::optional<Spread> spread_of(const Recurrence& recurrence, const GpuSpec& gpu);

// How a layer of a recurrence is distributed over clusters of blocks, by a model of its cycles.

struct Clusters {
  int64_t layers_at_once = 1;  // the others need separate launches
  int64_t blocks = 1;          // of a cluster: they share a layer's units
  int64_t samples = 1;         // per cluster

  double clocks = 0;  // expected, in total
};

// The fastest; empty if the weights don't fit into registers or the GPU has no clusters.
std::optional<Clusters> clusters_of(const Recurrence& recurrence, const GpuSpec& gpu);

}  // namespace stitch::code
