#include "code/loops/families.h"

#include <array>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/row.h"

namespace stitch::code::loops {

namespace {

const std::array all = {
    Family{"loop",
           "a thread an element or pack: pointwise, views, movement, gathers, windows, small reductions",
           accepts_loop, write_loop},
    Family{"batch_norm", "each channel's statistics by parts of the batch, then one pass that normalises",
           accepts_batch_norm, write_batch_norm},
    Family{"row",
           "lanes, a block or columns of threads share a row: reductions, softmax, norms, and what is around "
           "them",
           accepts_row, write_row},
};

}  // namespace

std::span<const Family> loop_families() { return all; }

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

Result<void> can_fuse_into_loop(const Graph& graph, std::span<const int32_t> nodes) {
  plan::Region region;
  region.nodes.assign(nodes.begin(), nodes.end());
  return accepts_loop(graph, region);
}

Result<std::string_view> classify(const Graph& graph, const plan::Region& region) {
  Error last = work_error("technique", format("{}: no nodes", region.name));
  for (const Family& family : all) {
    auto accepted = family.accepts(graph, region);
    if (accepted) return family.technique;
    last = accepted.error();
  }
  return last;
}

}  // namespace stitch::code::loops
