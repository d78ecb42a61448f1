#include "code/loops/is_expression.h"

namespace stitch::code::loops {

bool is_expression(const Graph& graph, int32_t number) {
  const Node& node = graph.nodes[static_cast<size_t>(number)];
  switch (info(node.op).family) {
    case stitch::Family::pointwise:
    case stitch::Family::view:
    case stitch::Family::movement:
    case stitch::Family::pool:
    case stitch::Family::create: return true;
    case stitch::Family::indexing:
      return node.op == Op::gather || node.op == Op::index || node.op == Op::searchsorted;
    case stitch::Family::normalize: return node.op == Op::batch_norm && !node.attributes.flag("training");
    default: return false;
  }
}

}  // namespace stitch::code::loops
