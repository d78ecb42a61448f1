#include "code/loops/pool.h"

namespace stitch::code::loops {

std::optional<Pool> pool_of(const Graph& graph, int32_t number) {
  const Node& node = graph.node(number);
  if ((node.op != Op::max_pool && node.op != Op::avg_pool) || node.results.size() > 1) return std::nullopt;
  const TensorType& type = graph.type(node.operands[0]);
  if (!is_floating(type.dtype)) return std::nullopt;
  Pool pool{number, node.op == Op::max_pool};
  pool.dims = type.shape.size() - 2;
  if (pool.dims < 1 || pool.dims > 3) return std::nullopt;
  const Attributes& attributes = node.attributes;
  const Shape& out = graph.type(node.results[0]).shape;
  Axis* axes[] = {&pool.z, &pool.y, &pool.x};
  int64_t count = 1;
  bool whole = true;  // every window has as many elements, padding included
  for (size_t d = 0; d < pool.dims; ++d) {
    Axis& axis = *axes[3 - pool.dims + d];
    axis = {type.shape[d + 2],
            out[d + 2],
            attributes.integers("kernel")[d],
            attributes.integers("stride")[d],
            attributes.integers("padding")[d],
            pool.largest ? attributes.integers("dilation")[d] : 1};
    count *= axis.taps;
    whole &= axis.padding == 0 || pool.largest || attributes.flag("count_padding");
    whole &= (axis.out - 1) * axis.stride + axis.reach() <= axis.in + 2 * axis.padding;
  }
  if (!pool.largest) {
    int64_t divisor = attributes.integer("divisor");
    if (!divisor && !whole) return std::nullopt;
    pool.share = 1.0 / static_cast<double>(divisor ? divisor : count);
  }
  return pool;
}

}  // namespace stitch::code::loops
