// Counts in whole parts.
#pragma once

#include <cstdint>

namespace stitch {

constexpr int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }
constexpr int64_t rounded_up(int64_t count, int64_t by) { return divided_up(count, by) * by; }

}  // namespace stitch
