#include "verify/clock/agreed.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace stitch::verifier {

Result<std::optional<int64_t>> agreed(const std::function<Result<int64_t>()>& measure, int64_t least,
                                      int most_tries) {
  std::optional<int64_t> before;
  for (int tries = 0; tries < most_tries; ++tries) {
    STITCH_TRY(int64_t now, measure());
    if (before && std::abs(now - *before) <= std::max(least, std::abs(now) / 100)) return std::optional(now);
    before = now;
  }
  return std::optional<int64_t>();
}

}  // namespace stitch::verifier
