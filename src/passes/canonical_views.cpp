// Merges views of views and removes identity views.
#include <algorithm>

#include "passes/pipeline.h"

namespace stitch {

namespace {

bool shows_everything(const Graph& graph, const Node& node) {
  const TensorType &before = graph.type(node.operands[0]), &after = graph.type(node.results[0]);
  switch (node.op) {
    case Op::reshape:
    case Op::expand:
    case Op::slice:
    case Op::tril:
    case Op::triu: return (node.op != Op::tril && node.op != Op::triu) && before.shape == after.shape;
    case Op::cast: return before.dtype == after.dtype;
    case Op::permute: return std::ranges::is_sorted(node.attributes.integers("dims"));
    case Op::concat: return node.operands.size() == 1;
    default: return false;
  }
}

// A permutation that only moves dimensions of size 1 is a reshape.
bool moves_only_ones(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(node.operands[0]).shape;
  int64_t last = -1;
  for (int64_t dim : node.attributes.integers("dims")) {
    if (shape[static_cast<size_t>(dim)] == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// node(maker(x)) as one node on x, if possible.
bool merge(Node& node, const Node& maker) {
  if (node.op != maker.op) return false;
  switch (node.op) {
    case Op::reshape:
    case Op::expand: break;
    case Op::permute: {
      std::vector<int64_t> dims;
      for (int64_t dim : node.attributes.integers("dims"))
        dims.push_back(maker.attributes.integers("dims")[static_cast<size_t>(dim)]);
      node.attributes.set("dims", dims);
      break;
    }
    case Op::slice: {
      if (node.attributes.integer("dim") != maker.attributes.integer("dim")) return false;
      int64_t step = maker.attributes.integer("step"), start = maker.attributes.integer("start");
      int64_t first = node.attributes.integer("start"), end = node.attributes.integer("end");
      node.attributes.set("end", std::min(start + end * step, maker.attributes.integer("end")));
      node.attributes.set("start", std::min(start + first * step, node.attributes.integer("end")));
      node.attributes.set("step", node.attributes.integer("step") * step);
      break;
    }
    default: return false;
  }
  node.operands = maker.operands;
  return true;
}

void count_from_start(const Graph& graph, Node& node) {
  const AttributeValue* dim = node.attributes.find("dim");
  if (!dim || kind_of(*dim) != AttributeKind::integer || node.operands.empty()) return;
  int64_t rank = std::max<int64_t>(graph.type(node.operands[0]).rank(), 1), value = std::get<int64_t>(*dim);
  if (value < 0) node.attributes.set("dim", value + rank);
}

}  // namespace

bool canonicalize_views(Graph& graph) {
  bool changed = false;
  std::vector<ValueId> replacement(graph.values.size());
  for (size_t i = 0; i < replacement.size(); ++i) replacement[i] = static_cast<ValueId>(i);
  std::vector<int32_t> made_by = producers(graph);
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.operands)
      if (id != ValueId::none) id = replacement[index_of(id)];
    count_from_start(graph, node);
    if (node.operands.empty() || node.results.size() != 1) continue;
    if (node.op == Op::permute && moves_only_ones(graph, node)) {
      node.op = Op::reshape;
      node.attributes = Attributes{{"shape", graph.type(node.results[0]).shape}};
      changed = true;
    }
    while (node.operands[0] != ValueId::none) {
      int32_t maker = made_by[index_of(node.operands[0])];
      if (maker < 0 || !merge(node, graph.node(maker))) break;
      changed = true;
    }
    if (shows_everything(graph, node)) replacement[index_of(node.results[0])] = node.operands[0];
  }
  replace_uses(graph, replacement);
  bool removed = remove_dead_code(graph);
  return changed || removed;
}

}  // namespace stitch
