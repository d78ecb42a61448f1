// A linear layer on concatenated features: rows that the concat repeats are multiplied once each.
// Additive attention:
//   linear(concat(a, expand(h)), w)   is   linear(a, w_a) + linear(h, w_h)
// Messages in graphs:
//   linear(concat(x[from], x[to]), w)   is   linear(x, w_from)[from] + linear(x, w_to)[to]
// Unrolled steps then share a's product. FP32 only: half precision would round each term.
#include <algorithm>
#include <optional>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

int64_t rows_of(const Graph& graph, ValueId value) {
  const TensorType& type = graph.type(value);
  return type.shape.back() ? type.elements() / type.shape.back() : 0;
}

// The source that a part's rows are repeated from.
struct Repeated {
  ValueId from;
  ValueId index = ValueId::none;  // none: by broadcasting
};

std::optional<Repeated> repeated(const Graph& graph, const std::vector<int32_t>& makers, ValueId part) {
  constexpr int64_t least_repeats = 4, least_width = 16;
  const int32_t maker = makers[index_of(part)];
  if (maker < 0) return std::nullopt;
  const Node& node = graph.node(maker);
  if (node.op != Op::expand && node.op != Op::index) return std::nullopt;
  const ValueId from = node.operands[0];
  const Shape &wide = graph.type(part).shape, &narrow = graph.type(from).shape;
  if (narrow.empty() || narrow.back() != wide.back() || wide.back() < least_width ||
      rows_of(graph, from) * least_repeats > rows_of(graph, part))
    return std::nullopt;
  if (node.op == Op::expand)
    return narrow.size() == wide.size() ? std::optional(Repeated{from}) : std::nullopt;
  const bool of_rows = narrow.size() == 2 && node.attributes.integers("dims") == std::vector<int64_t>{0};
  return of_rows ? std::optional(Repeated{from, node.operands[1]}) : std::nullopt;
}

struct ConcatTerm {
  std::vector<ValueId> parts;  // concatenated
  std::optional<Repeated> repeated;
  int64_t start = 0, end = 0;  // their columns
};

std::vector<ConcatTerm> terms_of(const Graph& graph, const std::vector<int32_t>& makers, const Node& concat) {
  std::vector<ConcatTerm> out;
  int64_t start = 0;
  for (ValueId part : concat.operands) {
    const int64_t end = start + graph.type(part).shape.back();
    auto from = repeated(graph, makers, part);
    if (!from && !out.empty() && !out.back().repeated) {
      out.back().parts.push_back(part);
      out.back().end = end;
    } else {
      out.push_back({{part}, from, start, end});
    }
    start = end;
  }
  return out;
}

// The sum of the terms' products. The bias is added to the term with most rows, in its product's epilogue.
ValueId sum_of(Graph& graph, const Node& product, const Node& concat, std::vector<ConcatTerm> terms) {
  const std::string name = graph[product.results[0]].name;
  Builder builder(graph, product);
  std::ranges::stable_sort(
      terms, [](const ConcatTerm& a, const ConcatTerm& b) { return !a.repeated && b.repeated; });
  ValueId sum = ValueId::none;
  for (const ConcatTerm& term : terms) {
    ValueId x = term.repeated ? term.repeated->from
                : term.parts.size() == 1
                    ? term.parts[0]
                    : builder.add(Op::concat, term.parts, concat.attributes, name + ".beside");
    std::vector<ValueId> operands = {
        x, builder.slice(product.operands[1], 1, term.start, term.end, name + ".columns")};
    if (sum == ValueId::none && product.operands.size() > 2 && product.operands[2] != ValueId::none)
      operands.push_back(product.operands[2]);
    ValueId y = builder.add(Op::linear, operands, product.attributes, name + ".term");
    if (term.repeated && term.repeated->index != ValueId::none)
      y = builder.add(Op::index, {y, term.repeated->index}, {{"dims", std::vector<int64_t>{0}}},
                      name + ".rows");
    sum = sum == ValueId::none ? y : builder.add(Op::add, {sum, y}, {}, name + ".sum");
  }
  const Shape shape = graph.type(product.results[0]).shape;
  return graph.type(sum).shape == shape ? sum
                                        : builder.add(Op::expand, {sum}, {{"shape", shape}}, name + ".all");
}

}  // namespace

bool multiply_repeated_rows_once(Graph& graph) {
  const std::vector<int32_t> makers = producers(graph);
  const std::vector<std::vector<int32_t>> used_by = users(graph);
  std::map<ValueId, ValueId> replacement;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node product = graph.nodes[n];
    if (product.op != Op::linear || graph.type(product.results[0]).dtype != DType::f32) continue;
    const ValueId x = product.operands[0];
    const int32_t maker = makers[index_of(x)];
    if (maker < 0 || used_by[index_of(x)].size() != 1 || graph.type(product.operands[1]).rank() != 2)
      continue;
    const Node concat = graph.node(maker);
    if (concat.op != Op::concat || concat.attributes.integer("dim") != std::ssize(graph.type(x).shape) - 1)
      continue;
    std::vector<ConcatTerm> terms = terms_of(graph, makers, concat);
    if (terms.size() < 2 ||
        std::ranges::none_of(terms, [](const ConcatTerm& term) { return term.repeated.has_value(); }))
      continue;
    replacement[product.results[0]] = sum_of(graph, product, concat, std::move(terms));
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  share_common_subexpressions(graph);
  return true;
}

}  // namespace stitch
