// Evaluates nodes that depend on no input or weight with the oracle, where the result is one value everywhere
// (full) or evenly spaced (iota). Other tables stay ops: they are cheap on the GPU, and as data they would
// have to be rounded.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "oracle/interpreter.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

using oracle::Tensor;

std::vector<double> numbers(const Tensor& tensor) {
  if (tensor.floating()) return {tensor.data<double>(), tensor.data<double>() + tensor.elements()};
  std::vector<double> out(static_cast<size_t>(tensor.elements()));
  std::copy_n(tensor.data<int64_t>(), out.size(), out.begin());
  return out;
}

bool exactly(const Tensor& tensor) {
  // Integers above 2^53 don't fit an attribute.
  if (tensor.floating()) return true;
  constexpr int64_t most = int64_t{1} << 53;
  const int64_t* begin = tensor.data<int64_t>();
  return std::all_of(begin, begin + tensor.elements(), [](int64_t v) { return -most < v && v < most; });
}

std::optional<Node> short_form(const Tensor& tensor) {
  if (tensor.elements() == 0 || !exactly(tensor)) return std::nullopt;
  std::vector<double> values = numbers(tensor);
  auto same_bits = [&](double v) { return std::bit_cast<uint64_t>(v) == std::bit_cast<uint64_t>(values[0]); };
  if (std::ranges::all_of(values, same_bits))
    return Node{Op::full, {},
                {},       {{"shape", tensor.shape()}, {"dtype", tensor.dtype()}, {"value", values[0]}},
                {},       {}};
  if (tensor.rank() != 1 || tensor.dtype() == DType::boolean) return std::nullopt;
  double start = values[0], step = values[1] - values[0];
  for (size_t i = 0; i < values.size(); ++i)
    if (start + static_cast<double>(i) * step != values[i]) return std::nullopt;
  return Node{
      Op::iota, {},
      {},       {{"size", tensor.elements()}, {"dtype", tensor.dtype()}, {"start", start}, {"step", step}},
      {},       {}};
}

bool foldable(const Graph& graph, const Node& node, int64_t most_elements) {
  if (node.op == Op::random) return false;
  return std::ranges::all_of(node.results,
                             [&](ValueId id) { return graph.type(id).elements() <= most_elements; });
}

// A view of a full is a full, however large.
std::optional<Node> view_of_full(const Graph& graph, const Node& node, const std::vector<int32_t>& made_by) {
  if (info(node.op).family != Family::view && node.op != Op::cast) return std::nullopt;
  int32_t maker = made_by[index_of(node.operands[0])];
  if (maker < 0 || graph.node(maker).op != Op::full || node.op == Op::cast) return std::nullopt;
  const TensorType& type = graph.type(node.results[0]);
  double value = graph.node(maker).attributes.number("value");
  return Node{Op::full, {}, {}, {{"shape", type.shape}, {"dtype", type.dtype}, {"value", value}}, {}, {}};
}

}  // namespace

bool fold_constants(Graph& graph, const RewriteLimits& limits) {
  bool changed = false;
  std::map<ValueId, Tensor> known;
  std::vector<int32_t> made_by = producers(graph);
  auto become = [&](Node& node, Node form) {
    node.op = form.op;
    node.operands.clear();
    node.attributes = std::move(form.attributes);
    changed = true;
  };
  for (Node& node : graph.nodes) {
    if (node.operands.size() == 1)
      if (auto form = view_of_full(graph, node, made_by)) become(node, *std::move(form));
    if (!foldable(graph, node, limits.folded_elements)) continue;
    std::vector<const Tensor*> operands;
    bool constant = true;
    for (ValueId id : node.operands) {
      auto found = id == ValueId::none ? known.end() : known.find(id);
      constant &= id == ValueId::none || found != known.end();
      operands.push_back(found == known.end() ? nullptr : &found->second);
    }
    if (!constant) continue;
    auto results = oracle::evaluate_node(graph, node, operands);
    if (!results) continue;  // e.g. an index out of range: reported at run time
    for (size_t i = 0; i < node.results.size(); ++i) known.insert_or_assign(node.results[i], (*results)[i]);
    if (node.op == Op::full || node.op == Op::iota || node.results.size() != 1) continue;
    if (auto form = short_form((*results)[0])) become(node, *std::move(form));
  }
  bool removed = remove_dead_code(graph);
  return changed || removed;
}

}  // namespace stitch
