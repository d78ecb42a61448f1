// May a technique compute a region at all sizes? Asked while plans are made.
#pragma once

#include <memory>

#include "code/family/fit.h"
#include "code/technique.h"

namespace stitch::code {

// Of these instances; made once for a plan.
std::shared_ptr<const SizeTable> size_table(const std::shared_ptr<const Instances>& instances);

// Which GPU a region is written for, so that its code is one at all sizes: this one, or one that every call
// fills (Context::filled). An error: the technique accepts it at some sizes only, or its code can't be one.
enum class Fill : uint8_t { as_it_is, filled };
Result<Fill> fill_for_all_sizes(const Technique& technique, const plan::Context& context,
                                const plan::Plan& plan, const plan::Region& region);

}  // namespace stitch::code
