// May a technique compute a region at all sizes? Asked while plans are made.
#pragma once

#include <memory>

#include "code/family/fit.h"
#include "code/technique.h"

namespace stitch::code {

// Of these instances; made once for a plan.
std::shared_ptr<const SizeTable> size_table(const std::shared_ptr<const Instances>& instances);

// It accepts the region at each instance's sizes, and its code there can be one.
Result<void> can_write_at_all_sizes(const Technique& technique, const plan::Context& context,
                                    const plan::Plan& plan, const plan::Region& region);

}  // namespace stitch::code
