// One thread per element, or per vector of contiguous ones: for everything whose elements are independent.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

class Stages;

// Reads statistics computed by earlier stages: see stages.h.
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

}  // namespace stitch::code::loops
