// What a failed candidate is counted as: a table of the gates' codes.
#pragma once

#include <string_view>

#include "verify/verdict.h"

namespace stitch::verifier {

enum class Kind : uint8_t {
  build_failed,  // screened for nothing worse, not compiled, not loaded, another task's
  wrong,
  crashed,
  hack,          // what no honest author writes: forged answers and times, work that isn't done
  inconclusive,  // nothing was wrong, and nothing was proved
  misbehaved,    // a mistake other than a wrong result: writes past its tensors, misses a barrier
};
std::string_view name(Kind kind);

struct Label {
  Kind kind = Kind::wrong;
  std::string_view text;  // for people; of a hack, which one
};
Label label_of(const GateReport& failure);

}  // namespace stitch::verifier
