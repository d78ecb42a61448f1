// How a persistent recurrence is spread over a machine: who owns which units, and who fetches.
#pragma once

#include <optional>

#include "code/products/recurrence.h"
#include "device/gpu_spec.h"

namespace stitch::code {

struct Spread {
  int64_t layers_at_once = 1;  // the others wait for a launch of their own
  int64_t samples = 1;         // of the batch, that a block computes
  int64_t units = 1;           // hidden units that a block owns
  int64_t units_each = 1;      // of them, that a thread works on
  int64_t slices = 32;         // lanes that share a unit's sum over its features
  int64_t state_warps = 1, input_warps = 1;

  double clocks = 0;  // expected, for everything

  int64_t blocks(const Recurrence& recurrence) const;
};

// The fastest one by a model of its clocks; nothing, if the weights don't fit into the registers of the GPU's
// multiprocessors.
std::optional<Spread> spread_of(const Recurrence& recurrence, const GpuSpec& gpu);

}  // namespace stitch::code
