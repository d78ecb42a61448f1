// A slice of a product becomes a product of slices, so that unread results aren't computed: the last token's
// logits, the last state of a chunked recurrence (Mamba2).
//   slice(einsum("bhzc,bchpn->bzhpn", d, s), z)   is   einsum("bhzc,bchpn->bzhpn", slice(d, z), s)
#include <algorithm>
#include <optional>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

// For one dimension of the result, the dimension along which each operand is sliced; -1: not sliced.
using Cuts = std::vector<int64_t>;

std::optional<Cuts> cuts_of_einsum(const Node& node, int64_t dim) {
  const std::string equation = node.attributes.text("equation");
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return std::nullopt;
  const std::string result = equation.substr(arrow + 2);
  if (static_cast<size_t>(dim) >= result.size()) return std::nullopt;
  const char label = result[static_cast<size_t>(dim)];
  Cuts out;
  for (size_t at = 0; at < arrow;) {
    const size_t end = std::min(equation.find(',', at), arrow);
    const std::string labels = equation.substr(at, end - at);
    if (std::ranges::count(labels, label) > 1 || labels.find(' ') != std::string::npos) return std::nullopt;
    const size_t found = labels.find(label);
    out.push_back(found == std::string::npos ? -1 : static_cast<int64_t>(found));
    at = end + 1;
  }
  return out;
}

std::optional<Cuts> cuts_of(const Graph& graph, const Node& node, int64_t dim) {
  const auto rank = static_cast<int64_t>(graph.type(node.results[0]).shape.size());
  auto rank_of = [&](size_t operand) {
    return static_cast<int64_t>(graph.type(node.operands[operand]).shape.size());
  };
  switch (node.op) {
    case Op::einsum: return cuts_of_einsum(node, dim);
    case Op::linear: {
      Cuts out(node.operands.size(), -1);
      if (dim < rank - 1) out[0] = dim;
      if (dim == rank - 1)
        for (size_t i = 1; i < out.size(); ++i) out[i] = 0;
      return rank_of(0) == rank && rank_of(1) == 2 ? std::optional(out) : std::nullopt;
    }
    case Op::matmul:
      if (rank_of(0) != rank || rank_of(1) != rank) return std::nullopt;
      if (dim == rank - 2) return Cuts{dim, -1};
      if (dim == rank - 1) return Cuts{-1, dim};
      return Cuts{dim, dim};
    default: return std::nullopt;
  }
}

bool is_output(const Graph& graph, ValueId value) {
  return std::ranges::find(graph.outputs, value) != graph.outputs.end() ||
         std::ranges::find(graph.updates, value, &Update::value) != graph.updates.end();
}

}  // namespace

bool multiply_slices(Graph& graph) {
  const std::vector<int32_t> makers = producers(graph);
  const std::vector<std::vector<int32_t>> used_by = users(graph);
  std::map<ValueId, ValueId> replacement;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node slice = graph.nodes[n];
    if (slice.op != Op::slice || slice.attributes.integer("step") != 1) continue;
    const ValueId whole = slice.operands[0];
    const int32_t maker = makers[index_of(whole)];
    if (maker < 0 || used_by[index_of(whole)].size() != 1 || is_output(graph, whole)) continue;
    const Node product = graph.node(maker);
    const int64_t dim = slice.attributes.integer("dim"), start = slice.attributes.integer("start"),
                  end = slice.attributes.integer("end");
    const std::optional<Cuts> cuts = cuts_of(graph, product, dim);
    if (!cuts || end <= start) continue;
    const std::string name = graph[slice.results[0]].name;
    Builder builder(graph, product);
    std::vector<ValueId> operands = product.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if ((*cuts)[i] < 0 || operands[i] == ValueId::none) continue;
      // A broadcast dimension isn't sliced.
      if (graph.type(operands[i]).shape[static_cast<size_t>((*cuts)[i])] == 1) continue;
      operands[i] = builder.slice(operands[i], (*cuts)[i], start, end, name + ".cut");
    }
    replacement[slice.results[0]] = builder.add(product.op, operands, product.attributes, name + ".product");
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  canonicalize_views(graph);
  return true;
}

}  // namespace stitch
