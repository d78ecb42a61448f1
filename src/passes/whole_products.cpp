// A product of rows doesn't depend on how rows are grouped into dimensions, so a view after it that only
// splits the rows is moved before it, where it cancels the view that merged them:
//   split(rows · W + b)   is   split(rows) · W + b
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

class RowViews {
 public:
  explicit RowViews(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node node = graph_.nodes[n];
      if (node.op == Op::linear || node.op == Op::matmul) rewrite(node);
    }
    if (replacement_.empty()) return false;
    replace_uses(graph_, replacement_);
    canonicalize_views(graph_);
    return true;
  }

 private:
  void rewrite(const Node& product) {
    const ValueId rows = product.operands[0], result = product.results[0];
    if (graph_.type(rows).rank() != 2 || graph_.type(product.operands[1]).rank() != 2 || !is_reshape(rows))
      return;
    const Node* next = only_user(result);
    const bool shifts = next && next->op == Op::add && goes_along_columns(*next, result);
    const ValueId last = shifts ? next->results[0] : result;
    const Node shift = shifts ? *next : Node{};
    const Node* spread = only_user(last);
    if (!spread || spread->op != Op::reshape) return;
    const ValueId replaced = spread->results[0];
    Shape shape = graph_.type(replaced).shape;
    if (shape.size() < 3 || shape.back() != graph_.type(last).shape[1]) return;

    shape.back() = graph_.type(rows).shape[1];
    Builder builder(graph_, product);
    std::vector<ValueId> operands = product.operands;
    operands[0] = builder.add(Op::reshape, {rows}, {{"shape", shape}}, graph_[result].name + ".spread");
    ValueId made =
        builder.add(product.op, std::move(operands), product.attributes, graph_[result].name + ".rows");
    if (shifts) {
      std::vector<ValueId> terms = shift.operands;
      std::ranges::replace(terms, result, made);
      made = Builder(graph_, shift)
                 .add(Op::add, std::move(terms), shift.attributes, graph_[last].name + ".rows");
    }
    replacement_[replaced] = made;
  }

  bool is_reshape(ValueId value) const {
    const int32_t maker = makers_[index_of(value)];
    return maker >= 0 && graph_.node(maker).op == Op::reshape;
  }

  const Node* only_user(ValueId value) const {
    const auto& users = users_[index_of(value)];
    const bool wanted = std::ranges::find(graph_.outputs, value) != graph_.outputs.end() ||
                        std::ranges::find(graph_.updates, value, &Update::value) != graph_.updates.end();
    return wanted || users.size() != 1 ? nullptr : &graph_.node(users[0]);
  }

  bool goes_along_columns(const Node& add, ValueId product) const {
    const ValueId other = add.operands[add.operands[0] == product ? 1 : 0];
    return other != product && graph_.type(other).rank() <= 1 &&
           graph_.type(other).dtype == graph_.type(product).dtype;
  }

  Graph& graph_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool spread_rows_first(Graph& graph) { return RowViews(graph).run(); }

}  // namespace stitch
