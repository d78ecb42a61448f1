// Linear algebra that is neither a product nor computed element by element: LU, Cholesky, QR and triangular
// systems by a block a matrix.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_factor(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_factor(const RegionRequest& request);

}  // namespace stitch::code::loops
