// One thread per element, or per vector of contiguous ones: for everything whose elements are independent.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

class Stages;

// Reads statistics computed by earlier stages: see row_plan.h.
class LoopEmitter : public Emitter {
 public:
  using Emitter::Emitter;
  Stages* stages = nullptr;
  std::vector<std::string> scratch;  // scratch arrays that the kernel reads
  int64_t wanted_list_parts = 1;     // if the kernel supports them

  // `list_parts` threads compute each vector; the first of them stores it. Returns the number of threads.
  int64_t share_lists(const Expression& thread, const std::string& unit, int64_t count);

  Expressions statistics(const Reduction& reduction, const Indices& kept) override;
};
using MakeEmitter = std::function<std::unique_ptr<LoopEmitter>()>;

// One kernel for writes of equal element counts, in the fastest form that fits.
Kernel loop_kernel(const RegionRequest& request, const std::vector<const Place*>& writes,
                   const std::string& name, const MakeEmitter& make);
// One per element count among the region's writes; none for empty writes, nor for those already done: called
// after the kernels of all larger ones.
std::vector<Kernel> loop_kernels(const RegionRequest& request, const MakeEmitter& make,
                                 const std::function<bool(const Place&)>& done = {});

Result<void> accepts_loop(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_loop(const RegionRequest& request);

// Loops that read NHWC and write NCHW: a block computes a tile along channels and writes it along pixels,
// through shared memory, so that both sides are coalesced.

// `width`: channels per vector. Empty for other layouts, small images, or if other operands are NCHW.
std::optional<Kernel> transposed_kernel(const RegionRequest& request, const Place& write,
                                        const std::string& name, int64_t width, const MakeEmitter& make);

// A pool's windows, dimension by dimension, and kernels that share what adjacent windows read.
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
