// A convolution with stride = kernel multiplies non-overlapping patches by a matrix, as a transformer's first
// layer does with an image.
//   conv(x, W, b)   is   patches(x) · W' + b
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool takes_patches(const Graph& graph, const Node& node, const RewriteLimits& limits) {
  if (node.op != Op::conv) return false;
  const Shape &image = graph.type(node.operands[0]).shape, &weight = graph.type(node.operands[1]).shape;
  if (image.size() != weight.size() || image.size() < 3 || weight[1] > limits.patch_channels) return false;
  const Shape kernel(weight.begin() + 2, weight.end());
  const Attributes& attributes = node.attributes;
  auto all_are = [](const std::vector<int64_t>& numbers, int64_t wanted) {
    return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
  };
  return element_count(weight) / weight[0] >= limits.long_patch && attributes.integer("groups") == 1 &&
         std::ranges::equal(attributes.integers("stride"), kernel) &&
         all_are(attributes.integers("padding"), 0) && all_are(attributes.integers("dilation"), 1) &&
         graph.type(node.results[0]).elements() > 0;
}

ValueId patches_product(Graph& graph, const Node& node) {
  const std::string name = graph[node.results[0]].name;
  const Shape weight = graph.type(node.operands[1]).shape, result = graph.type(node.results[0]).shape;
  const int64_t spatial = static_cast<int64_t>(weight.size()) - 2;
  Builder builder(graph, node);

  ValueId image = node.operands[0];
  Shape split{result[0], weight[1]};
  std::vector<int64_t> order{0}, back{0, spatial + 1};
  int64_t patches = 1;
  for (int64_t d = 0; d < spatial; ++d) {
    const auto at = static_cast<size_t>(d) + 2;
    image = builder.slice(image, d + 2, 0, result[at] * weight[at],
                          name + ".whole");  // drops a remainder that no window covers
    split.insert(split.end(), {result[at], weight[at]});
    order.push_back(2 + 2 * d);
    back.push_back(1 + d);
    patches *= result[at];
  }
  order.push_back(1);
  for (int64_t d = 0; d < spatial; ++d) order.push_back(3 + 2 * d);

  const int64_t depth = element_count(weight) / weight[0];
  ValueId windows = builder.add(Op::reshape, {image}, {{"shape", split}}, name + ".windows");
  ValueId ordered = builder.add(Op::permute, {windows}, {{"dims", order}}, name + ".ordered");
  ValueId rows =
      builder.add(Op::reshape, {ordered}, {{"shape", Shape{result[0], patches, depth}}}, name + ".rows");
  ValueId matrix =
      builder.add(Op::reshape, {node.operands[1]}, {{"shape", Shape{weight[0], depth}}}, name + ".matrix");
  std::vector<ValueId> operands{rows, matrix};
  if (node.operands.size() > 2 && node.operands[2] != ValueId::none) operands.push_back(node.operands[2]);
  ValueId product = builder.add(Op::linear, std::move(operands), {}, name + ".product");

  Shape last{result[0]};
  last.insert(last.end(), result.begin() + 2, result.end());
  last.push_back(result[1]);
  ValueId pixels = builder.add(Op::reshape, {product}, {{"shape", last}}, name + ".pixels");
  return builder.add(Op::permute, {pixels}, {{"dims", back}}, name + ".image");
}

}  // namespace

bool multiply_patches(Graph& graph, const RewriteLimits& limits) {
  std::map<ValueId, ValueId> replacement;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node node = graph.nodes[n];
    if (takes_patches(graph, node, limits)) replacement[node.results[0]] = patches_product(graph, node);
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  canonicalize_views(graph);
  return true;
}

}  // namespace stitch
