// A thread an element, or a vector of neighbouring ones: for everything whose elements don't need each other.
#pragma once

#include <functional>
#include <memory>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

class Stages;

// Where stages found something out before, their statistics are read; see stages.h.
class LoopEmitter : public Emitter {
 public:
  using Emitter::Emitter;
  Stages* stages = nullptr;
  std::vector<std::string> scratch;  // what the kernel reads of the workspace
  int64_t wanted_list_parts = 1;     // where the kernel can have them

  // `list_parts` threads make each vector; the first of them writes it. Returns how many threads that takes.
  int64_t share_lists(const Expression& thread, const std::string& unit, int64_t count);

  Expressions statistics(const Reduction& reduction, const Indices& kept) override;
};
using MakeEmitter = std::function<std::unique_ptr<LoopEmitter>()>;

// One kernel for writes of equal element counts, in the fastest form that fits.
Kernel loop_kernel(const RegionRequest& request, const std::vector<const Place*>& writes,
                   const std::string& name, const MakeEmitter& make);
// One for each count among all the region's writes; none for writes without elements, nor for those that are
// done: asked after the kernels of all larger ones were written.
std::vector<Kernel> loop_kernels(const RegionRequest& request, const MakeEmitter& make,
                                 const std::function<bool(const Place&)>& done = {});

Result<void> accepts_loop(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_loop(const RegionRequest& request);

}  // namespace stitch::code::loops
