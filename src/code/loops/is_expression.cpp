#include "code/loops/is_expression.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "code/loops/reduction.h"

namespace stitch::code::loops {

bool is_expression(const Graph& graph, int32_t number) {
  const Node& node = graph.node(number);
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

Result<void> accepts_nesting(const Graph& graph, const plan::Region& region) {
  constexpr int64_t most_steps = 1024;
  std::map<ValueId, int64_t> steps;  // operations per element of a value that the region computes
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    int64_t own = 1;
    for (ValueId operand : node.operands)
      if (auto found = steps.find(operand); found != steps.end()) own = std::max(own, found->second);
    if (auto reduction = reduction_of(graph, n))  // a longer one is a stage of its own, with stored results
      own = reduction->length() > most_inlined ? 1 : own * std::max<int64_t>(reduction->length(), 1);
    if (own > most_steps)
      return work_error("technique", format("{}: reductions inside of reductions take more than {} steps",
                                            region.name, most_steps));
    if (own > 1)
      for (ValueId result : node.results) steps[result] = own;
  }
  return {};
}

}  // namespace stitch::code::loops
