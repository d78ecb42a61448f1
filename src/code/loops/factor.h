// LU, Cholesky, QR and triangular systems: one block per matrix.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_factor(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_factor(const RegionRequest& request);

}  // namespace stitch::code::loops
