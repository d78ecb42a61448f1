// A pool's windows, dimension by dimension, and kernels that share what adjacent windows read.
#pragma once

#include <optional>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

// One spatial dimension.
struct Axis {
  int64_t in = 1, out = 1, taps = 1, stride = 1, padding = 0, dilation = 1;
  int64_t reach() const { return (taps - 1) * dilation + 1; }
  // Input positions read by so many adjacent results.
  int64_t span(int64_t results) const { return (results - 1) * stride + reach(); }
};

struct Pool {
  int32_t node = -1;
  bool largest = false;
  Axis z, y, x;
  size_t dims = 0;
  double share = 1;  // of a mean: the weight of one element
};

// Empty if element weights differ between windows, or indices are needed, too.
std::optional<Pool> pool_of(const Graph& graph, int32_t node);

// With large or overlapping windows: a block computes a tile of adjacent results from its part of the input,
// which it reads once. Empty if the region's only pool isn't of that kind; then each result reads its own
// window.
std::optional<RegionCode> write_pool(const RegionRequest& request);
// Along one dimension with stride 1: a warp holds a strip of the input in registers and shifts it
// (loops/window.h), so that a window takes as many steps as its size has bits. Empty for other pools.
std::optional<RegionCode> write_pool_strips(const RegionRequest& request, const Pool& pool);

}  // namespace stitch::code::loops
