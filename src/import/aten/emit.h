// The arithmetic that lowerings write most.
#pragma once

#include "import/aten/table.h"

namespace stitch {

inline ValueId constant(Call& call, ValueId like, double value) {
  return call.scalar(call.type(like).dtype, value);
}
inline ValueId add(Call& call, ValueId a, ValueId b) { return call.emit(Op::add, {a, b}); }
inline ValueId sub(Call& call, ValueId a, ValueId b) { return call.emit(Op::sub, {a, b}); }
inline ValueId mul(Call& call, ValueId a, ValueId b) { return call.emit(Op::mul, {a, b}); }

}  // namespace stitch
