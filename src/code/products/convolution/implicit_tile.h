// How kernels/conv_implicit.h walks a convolution: over pixels of the image, phase by phase if transposed, in
// tiles that are cheap to load and mostly full.
#pragma once

#include <optional>
#include <string>

#include "code/products/convolution/convolution.h"

namespace stitch::code {

struct ImplicitConvolution {
  using Three = Convolution::Three;
  // Result: phases · pixel + phase - before; weights: the model's taps, kernel: those of the first phase.
  Three size_in, size_out, result, kernel, weights, stride, padding, dilation, phases{1, 1, 1},
      before{0, 0, 0};
  Three tile{1, 1, 1}, pool{1, 1, 1};
  bool pool_max = false;
  int64_t chunk = 1;  // octets of channels in shared memory at a time

  // The same as in ImplicitTile.
  int64_t blocks = 0, shared_bytes = 0, packed = 0;
  int64_t in_registers = 0;  // octets of the next chunk prefetched per thread
  double products = 0;       // multiplications on tensor cores, including padding
};

// A pool after the convolution and its pointwise epilogue, and the region without it.
struct PooledConvolution {
  plan::Region without;
  const Node* pool = nullptr;
  Convolution::Three window{1, 1, 1};
};
// Empty: no pool, or its windows don't fit a tile.
std::optional<PooledConvolution> pooled_of(const Graph& graph, const plan::Region& region);

// Empty: not supported by the kernel. `exact`: three products of halves.
std::optional<ImplicitConvolution> implicit_of(const GpuSpec& gpu, const Convolution& convolution, bool exact,
                                               const std::optional<PooledConvolution>& pooled);

// For kernels/conv_implicit.h.
std::string implicit_struct(const Convolution& convolution, const ImplicitConvolution& walked,
                            const std::string& name);

}  // namespace stitch::code
