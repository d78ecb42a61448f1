// How kernels/conv_implicit.h walks a convolution: as one over pixels of the image, phase by phase where it
// is transposed, in tiles that are cheap to load and leave little empty.
#pragma once

#include <optional>
#include <string>

#include "code/products/convolution.h"

namespace stitch::code {

struct ImplicitConvolution {
  using Three = Convolution::Three;
  // Result: phases · pixel + phase - before; weights: taps of the model, kernel: those of the first phase.
  Three size_in, size_out, result, kernel, weights, stride, padding, dilation, phases{1, 1, 1},
      before{0, 0, 0};
  Three tile{1, 1, 1}, pool{1, 1, 1};
  bool pool_max = false;
  int64_t chunk = 1;  // octets of channels in shared memory at a time

  // What ImplicitTile computes.
  int64_t blocks = 0, shared_bytes = 0, packed = 0;
  int64_t in_registers = 0;  // octets of the next chunk that a thread holds
  double products = 0;       // multiplications on tensor cores, with all that only fills tiles up
};

// A pool behind the convolution and what follows it element by element, and the region without it.
struct PooledConvolution {
  plan::Region without;
  const Node* pool = nullptr;
  Convolution::Three window{1, 1, 1};
};
// Nothing: there is none, or not one whose windows a tile holds.
std::optional<PooledConvolution> pooled_of(const Graph& graph, const plan::Region& region);

// Nothing: it has no form for the kernel, or no room. `exact`: three products of halves.
std::optional<ImplicitConvolution> implicit_of(const GpuSpec& gpu, const Convolution& convolution, bool exact,
                                               const std::optional<PooledConvolution>& pooled);

// For kernels/conv_implicit.h.
std::string implicit_struct(const Convolution& convolution, const ImplicitConvolution& walked,
                            const std::string& name);

}  // namespace stitch::code
