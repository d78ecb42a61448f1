// A measurement that others may disturb: taken until two in a row agree.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"

namespace stitch::verifier {

// To within a hundredth, or `least` where that is more; nothing if they never do.
Result<std::optional<int64_t>> agreed(const std::function<Result<int64_t>()>& measure, int64_t least,
                                      int most_tries = 5);

}  // namespace stitch::verifier
