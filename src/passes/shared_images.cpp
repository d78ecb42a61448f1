// An input image that exceeds the caches and is read by several convolutions and pools, as by the branches of
// an Inception module, is copied once, in a layout of our choice: NHWC, and fp16 where the plan allows.
// Otherwise each would convert it, or read twice the bytes in an unfavourable order.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

constexpr size_t several = 3;

bool reads_channels(const Graph& graph, const Node& node, ValueId image) {
  if (node.operands[0] != image || std::ranges::count(node.operands, image) != 1) return false;
  if (node.op == Op::max_pool) return node.results.size() == 1;
  return node.op == Op::conv && node.attributes.integer("groups") == 1 && graph.type(image).shape[1] % 8 == 0;
}

}  // namespace

bool copy_shared_images(Graph& graph, const RewriteLimits& limits) {
  const std::vector<std::vector<int32_t>> used_by = users(graph);
  bool changed = false;
  for (ValueId image : graph.inputs()) {
    const TensorType& type = graph.type(image);
    std::vector<int32_t> readers = used_by[index_of(image)];
    if (type.dtype != DType::f32 || type.rank() != 4 || type.shape[1] < 16 ||
        static_cast<double>(type.bytes()) <= limits.cached_bytes || readers.size() < several ||
        std::ranges::find(graph.outputs, image) != graph.outputs.end() ||
        std::ranges::find(graph.updates, image, &Update::target) != graph.updates.end() ||
        !std::ranges::all_of(readers, [&](int32_t n) { return reads_channels(graph, graph.node(n), image); }))
      continue;
    const ValueId copy = Builder(graph, graph.node(readers[0]))
                             .add(Op::cast, {image}, {{"dtype", DType::f32}}, graph[image].name + ".copy");
    for (int32_t n : readers) graph.node(n).operands[0] = copy;
    changed = true;
  }
  if (changed) sort_nodes(graph);
  return changed;
}

}  // namespace stitch
