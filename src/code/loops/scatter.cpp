#include "code/loops/scatter.h"

#include "base/format.h"
#include "code/loops/is_expression.h"
#include "code/loops/loop.h"

namespace stitch::code::loops {

Result<void> accepts_scatter(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  int scatters = 0;
  for (int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    bool scatter = node.op == Op::scatter || node.op == Op::index_put;
    scatters += scatter;
    auto reduction = reduction_of(graph, n);
    if (!scatter && !is_expression(graph, n) && !(reduction && reduction->length() <= most_inlined))
      return work_error("technique",
                        format("{}: {} is not computed element by element", region.name, info(node.op).name));
  }
  if (scatters != 1)
    return work_error("technique", format("{}: {} scatters, not one", region.name, scatters));
  return {};
}

Result<RegionCode> write_scatter(const RegionRequest& request) {
  STITCH_CHECK(accepts_scatter(request.context, request.region));
  auto make = [&] { return std::make_unique<LoopEmitter>(request); };
  std::string idea = format(
      "{}: each result element looks for the sources that name it, in their order: no atomics, and equal "
      "inputs give equal "
      "outputs. {} moved.",
      ops_text(request), traffic_text(request));
  return assemble(request, idea, loop_kernels(request, make), {});
}

}  // namespace stitch::code::loops
