// Pointwise ops, from the table of expressions.
#include "code/expression/pointwise.h"
#include "code/loops/ops.h"

namespace stitch::code::loops {

Expression pointwise_element(Emitter& emitter, const Node& node, const Indices& at) {
  Expressions operands;
  for (ValueId operand : node.operands)
    operands.push_back(emitter.value(operand, emitter.broadcast_to(operand, at)));
  return pointwise(emitter.graph(), node, operands);
}

}  // namespace stitch::code::loops
