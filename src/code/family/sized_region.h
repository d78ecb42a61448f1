// May a technique compute a region at all sizes? Asked while plans are made.
#pragma once

#include <memory>

#include "code/technique.h"
#include "graph/size_table.h"

namespace stitch::code {

// Of these instances; made once for a plan.
std::shared_ptr<const SizeTable> size_table(const std::shared_ptr<const Instances>& instances);

// How a region is written, so that its code is one at all sizes (Context::writing).
struct Writing {
  bool filled = false;
  int64_t widest = 16;

  const plan::Context& at(const plan::Context& context) const {
    return filled || widest < 16 ? context.writing(filled, widest) : context;
  }
};
// The first that does. An error: the technique accepts the region at some sizes only, or its code can't be
// one.
Result<Writing> writing_for_all_sizes(const Technique& technique, const plan::Context& context,
                                      const plan::Plan& plan, const plan::Region& region);

}  // namespace stitch::code
