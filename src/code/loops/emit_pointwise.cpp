// Pointwise ops: the table's expressions of their operands.
#include "code/expression/pointwise.h"

#include "code/expression/print.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

std::string Emitter::cast(const std::string& text, DType from, DType to) {
  return text_of(converted(named(text), from, to));
}

std::string Emitter::pointwise(const Node& node, const Indices& at) {
  Expressions operands;
  for (ValueId operand : node.operands) {
    const DType dtype = graph().type(operand).dtype;
    std::optional<double> constant = constant_of(operand);
    operands.push_back(constant && is_floating(dtype) ? number(*constant, dtype)
                                                      : named(value(operand, broadcast_to(operand, at))));
  }
  return text_of(code::pointwise(graph(), node, operands));
}

}  // namespace stitch::code::loops
