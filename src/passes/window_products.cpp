// A row times a matrix gathered for that row alone (sliding windows of keys and values, sampled keys,
// candidate embeddings) reads each gathered element once. A product needs the gathered matrix in memory, many
// times its source; a multiplication and a sum read the source directly:
//   bhnd,bhnwd->bhnw   is   sum_d (bhnd · bhnwd)
#include <algorithm>

#include "graph/einsum.h"
#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool keeps_numbers(Op op) {
  return op == Op::reshape || op == Op::permute || op == Op::slice || op == Op::expand ||
         op == Op::strided_view || op == Op::index;
}

class WindowProducts {
 public:
  explicit WindowProducts(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node node = graph_.nodes[n];
      if ((node.op != Op::einsum && node.op != Op::matmul) || node.operands.size() != 2 ||
          !is_floating(graph_.type(node.results[0]).dtype))
        continue;
      auto einsum = equation_of(node);
      if (!einsum) continue;
      for (size_t windows : {size_t{1}, size_t{0}})
        if (is_gathered(node.operands[windows]) && is_row(*einsum, node, 1 - windows)) {
          replacement_[node.results[0]] = rewrite(node, *einsum, windows);
          break;
        }
    }
    if (replacement_.empty()) return false;
    replace_uses(graph_, replacement_);
    return true;
  }

 private:
  std::optional<Einsum> equation_of(const Node& node) const {
    if (node.op == Op::einsum) {
      auto parsed = parse_einsum(node.attributes.text("equation"));
      return parsed ? std::optional(*parsed) : std::nullopt;
    }
    const Shape &left = graph_.type(node.operands[0]).shape, &right = graph_.type(node.operands[1]).shape;
    if (left.size() != right.size() || left.size() < 3 || left.size() > 10 ||
        !std::equal(left.begin(), left.end() - 2, right.begin()))
      return std::nullopt;
    const std::string batch = std::string("abcdefgh").substr(0, left.size() - 2);
    return Einsum{{batch + "mk", batch + "kn"}, batch + "mn"};
  }

  // Through views without other readers, of a far smaller tensor, or by indices.
  bool is_gathered(ValueId value) const {
    bool windows = false, indexed = false;
    ValueId at = value;
    for (;;) {
      const int32_t maker = makers_[index_of(at)];
      if (maker < 0 || users_[index_of(at)].size() != 1 || is_result(at)) break;
      const Node& node = graph_.node(maker);
      if (!keeps_numbers(node.op)) break;
      windows |= node.op == Op::strided_view;
      indexed |= node.op == Op::index;
      at = node.operands[0];
    }
    return indexed || (windows && graph_.type(value).elements() >= 2 * graph_.type(at).elements());
  }

  bool is_result(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end() ||
           std::ranges::find(graph_.updates, value, &Update::value) != graph_.updates.end();
  }

  // Whether the other operand has one element per gathered one: no letters of its own but those of size one.
  bool is_row(const Einsum& einsum, const Node& node, size_t row) const {
    const std::string &letters = einsum.operands[row], &others = einsum.operands[1 - row];
    const Shape& shape = graph_.type(node.operands[row]).shape;
    for (const std::string* text : {&letters, &others})
      for (char letter : *text)
        if (std::ranges::count(*text, letter) != 1) return false;
    for (size_t i = 0; i < letters.size(); ++i)
      if (others.find(letters[i]) == std::string::npos && shape[i] != 1) return false;
    return true;
  }

  ValueId rewrite(const Node& node, const Einsum& einsum, size_t windows) {
    Builder builder(graph_, node);
    const std::string name = graph_[node.results[0]].name;
    const std::string &letters = einsum.operands[windows], &row_letters = einsum.operands[1 - windows];
    const TensorType result = graph_.type(node.results[0]);
    const DType sums = result.dtype == DType::f64 ? DType::f64 : DType::f32;
    auto widened = [&](ValueId value) {
      return graph_.type(value).dtype == sums
                 ? value
                 : builder.add(Op::cast, {value}, {{"dtype", sums}}, name + ".wide");
    };
    ValueId row = node.operands[1 - windows];
    Shape order, spread;  // the row's dimensions in the matrix's order, with ones for missing ones
    const Shape row_shape = graph_.type(row).shape;
    for (size_t i = 0; i < row_letters.size(); ++i)
      if (letters.find(row_letters[i]) == std::string::npos) order.push_back(static_cast<int64_t>(i));
    for (char letter : letters) {
      const size_t dim = row_letters.find(letter);
      spread.push_back(dim == std::string::npos ? 1 : row_shape[dim]);
      if (dim != std::string::npos) order.push_back(static_cast<int64_t>(dim));
    }
    if (!std::ranges::is_sorted(order))
      row = builder.add(Op::permute, {row}, {{"dims", order}}, name + ".ordered");
    row = builder.add(Op::reshape, {row}, {{"shape", spread}}, name + ".row");
    ValueId made = builder.add(Op::mul, {widened(row), widened(node.operands[windows])}, {}, name + ".terms");
    Shape summed;
    std::string left;
    for (size_t i = 0; i < letters.size(); ++i) {
      if (einsum.result.find(letters[i]) == std::string::npos)
        summed.push_back(static_cast<int64_t>(i));
      else
        left += letters[i];
    }
    if (!summed.empty()) made = builder.add(Op::sum, {made}, {{"dims", summed}}, name + ".sum");
    if (sums != result.dtype)
      made = builder.add(Op::cast, {made}, {{"dtype", result.dtype}}, name + ".rounded");
    Shape dims;
    for (char letter : einsum.result)
      if (const size_t dim = left.find(letter); dim != std::string::npos)
        dims.push_back(static_cast<int64_t>(dim));
    if (!std::ranges::is_sorted(dims))
      made = builder.add(Op::permute, {made}, {{"dims", dims}}, name + ".turned");
    return builder.add(Op::reshape, {made}, {{"shape", result.shape}}, name + ".windows");
  }

  Graph& graph_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool multiply_windows(Graph& graph) { return WindowProducts(graph).run(); }

}  // namespace stitch
