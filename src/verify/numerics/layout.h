// A value as a region stores it: dimensions in another order.
#pragma once

#include <span>
#include <vector>

#include "program/manifest.h"

namespace stitch::verifier {

// The order, if there is one, is a permutation of the dimensions.
bool fits(const Slot& slot);
std::vector<std::byte> to_storage(const Slot& slot, std::span<const std::byte> row_major);
std::vector<std::byte> from_storage(const Slot& slot, std::span<const std::byte> stored);

}  // namespace stitch::verifier
