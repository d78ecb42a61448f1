// Attention can read and write heads with any strides; products want rows in order. So a permutation of rows
// between a product and attention is moved next to attention:
//   attention(views(permute(x) · W))    is   attention(views(permute(x · W)))
//   permute(heads(attention) · W)       is   permute(heads(attention)) · W
// Common in modules that are sequence-first inside and batch-first outside.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

class RowOrder {
 public:
  explicit RowOrder(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node node = graph_.nodes[n];
      if (node.op != Op::linear && (node.op != Op::matmul || graph_.type(node.operands[1]).rank() != 2))
        continue;
      if (!permute_after(node)) permute_before(node);
    }
    if (replacement_.empty()) return false;
    replace_uses(graph_, replacement_);
    canonicalize_views(graph_);
    return true;
  }

 private:
  bool permute_after(const Node& product) {
    const Node* permute = maker(product.operands[0]);
    if (!permute || !keeps_columns(*permute) || is_view(maker(permute->operands[0])) ||
        !only_attention_reads(product.results[0]))
      return false;
    const Attributes order = permute->attributes;
    std::vector<ValueId> operands = product.operands;
    operands[0] = permute->operands[0];
    Builder builder(graph_, product);
    const std::string name = graph_[product.results[0]].name;
    ValueId made = builder.add(product.op, std::move(operands), product.attributes, name + ".rows");
    replacement_[product.results[0]] = builder.add(Op::permute, {made}, order, name + ".ordered");
    return true;
  }

  // heads: a permute of attention's result and a reshape that merges the trailing dimensions.
  void permute_before(const Node& product) {
    const Node* join = maker(product.operands[0]);
    const Node* apart = join && join->op == Op::reshape ? maker(join->operands[0]) : nullptr;
    const Node* attention = apart && apart->op == Op::permute ? maker(apart->operands[0]) : nullptr;
    if (!attention || attention->op != Op::attention) return;
    const auto& next = users_[index_of(product.results[0])];
    if (next.size() != 1 || is_wanted(product.results[0])) return;
    const Node permute = graph_.node(next[0]);
    const Shape heads = graph_.type(join->operands[0]).shape, rows = graph_.type(join->results[0]).shape;
    if (!keeps_columns(permute) || heads.size() < rows.size() ||
        !std::equal(rows.begin(), rows.end() - 1, heads.begin()))
      return;
    std::vector<int64_t> order = permute.attributes.integers("dims");
    order.pop_back();
    for (size_t d = rows.size() - 1; d < heads.size(); ++d) order.push_back(static_cast<int64_t>(d));
    Shape joined;
    for (int64_t d : permute.attributes.integers("dims")) joined.push_back(rows[static_cast<size_t>(d)]);

    Builder builder(graph_, product);
    const std::string name = graph_[product.results[0]].name;
    std::vector<ValueId> operands = product.operands;
    const ValueId ordered = builder.add(Op::permute, {join->operands[0]}, {{"dims", order}}, name + ".heads");
    operands[0] = builder.add(Op::reshape, {ordered}, {{"shape", joined}}, name + ".joined");
    replacement_[permute.results[0]] =
        builder.add(product.op, std::move(operands), product.attributes, name + ".rows");
  }

  static bool is_view(const Node* node) {
    return node && (node->op == Op::reshape || node->op == Op::permute || node->op == Op::slice);
  }

  static bool keeps_columns(const Node& node) {
    if (node.op != Op::permute) return false;
    const std::vector<int64_t>& order = node.attributes.integers("dims");
    return order.size() > 2 && order.back() == static_cast<int64_t>(order.size()) - 1;
  }

  bool only_attention_reads(ValueId value) const {
    if (is_wanted(value) || users_[index_of(value)].empty()) return false;
    return std::ranges::all_of(users_[index_of(value)], [&](int32_t user) {
      const Node& node = graph_.node(user);
      return node.op == Op::attention || (is_view(&node) && only_attention_reads(node.results[0]));
    });
  }

  bool is_wanted(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end() ||
           std::ranges::find(graph_.updates, value, &Update::value) != graph_.updates.end();
  }

  const Node* maker(ValueId value) const {
    const int32_t at = index_of(value) < makers_.size() ? makers_[index_of(value)] : -1;
    return at < 0 ? nullptr : &graph_.node(at);
  }

  Graph& graph_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool order_rows_for_products(Graph& graph) { return RowOrder(graph).run(); }

}  // namespace stitch
