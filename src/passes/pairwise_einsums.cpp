// An einsum of three or more operands becomes element-wise multiplications and einsums of two, which
// libraries and loops can compute:
//   bclhn,bchpn,bhcl->bclhp   is   (bclhn · bhcl),bchpn->bclhp
// An operand whose letters are a subset of another's is multiplied into the smallest such; otherwise the
// first two are contracted, keeping the letters that are needed later.
#include <algorithm>

#include "graph/einsum.h"
#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

struct Term {
  std::string letters;
  ValueId value;
};

bool has(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

class Pairs {
 public:
  Pairs(Graph& graph, const Node& node, const Einsum& einsum)
      : graph_(graph), builder_(graph, node), result_(einsum.result) {
    for (size_t i = 0; i < einsum.operands.size(); ++i)
      terms_.push_back({einsum.operands[i], node.operands[i]});
  }

  // No diagonals, and no letter that is summed in one operand alone.
  bool can_be_paired() const {
    return std::ranges::all_of(terms_, [&](const Term& term) {
      return std::ranges::all_of(term.letters, [&](char letter) {
        return std::ranges::count(term.letters, letter) == 1 && (has(result_, letter) || holders(letter) > 1);
      });
    });
  }

  ValueId make() {
    while (terms_.size() > 2)
      if (!multiply_one_into_another()) contract_first_two();
    return contract(terms_[0], terms_[1], result_);
  }

 private:
  int64_t holders(char letter) const {
    return std::ranges::count_if(terms_, [&](const Term& term) { return has(term.letters, letter); });
  }

  int64_t elements(const Term& term) const { return graph_.type(term.value).elements(); }

  // Whether its letters are a subset of the other's, and no letter remains to be summed in one operand alone.
  bool goes_into(const Term& small, const Term& large) const {
    return std::ranges::all_of(small.letters, [&](char letter) {
      return has(large.letters, letter) && (has(result_, letter) || holders(letter) > 2);
    });
  }

  // With equal letters the first keeps its order, which suits the product it comes from.
  bool multiply_one_into_another() {
    size_t from = 0, into = 0;
    for (size_t i = 0; i < terms_.size(); ++i)
      for (size_t j = 0; j < terms_.size(); ++j)
        if (i != j && goes_into(terms_[i], terms_[j]) &&
            (from == into || elements(terms_[j]) <= elements(terms_[into])))
          from = i, into = j;
    if (from == into) return false;
    Term& large = terms_[into];
    large.value = builder_.add(Op::mul, {large.value, spread(terms_[from], large)}, {}, "scaled");
    terms_.erase(terms_.begin() + static_cast<int64_t>(from));
    return true;
  }

  // The small operand's dimensions in the large one's order, with ones for missing letters.
  ValueId spread(const Term& small, const Term& large) {
    const Shape shape = graph_.type(small.value).shape;
    Shape dims, wide;
    for (char letter : large.letters) {
      size_t dim = small.letters.find(letter);
      wide.push_back(dim == std::string::npos ? 1 : shape[dim]);
      if (dim != std::string::npos) dims.push_back(static_cast<int64_t>(dim));
    }
    ValueId value = small.value;
    if (!std::ranges::is_sorted(dims))
      value = builder_.add(Op::permute, {value}, {{"dims", dims}}, "ordered");
    if (wide.size() != dims.size()) value = builder_.add(Op::reshape, {value}, {{"shape", wide}}, "spread");
    return value;
  }

  void contract_first_two() {
    std::string needed = result_;
    for (size_t i = 2; i < terms_.size(); ++i) needed += terms_[i].letters;
    const std::string &left = terms_[0].letters, &right = terms_[1].letters;
    std::string shared, rows, columns;
    for (char letter : left)
      if (has(needed, letter)) (has(right, letter) ? shared : rows) += letter;
    for (char letter : right)
      if (has(needed, letter) && !has(left, letter)) columns += letter;
    std::string letters = shared + rows + columns;
    ValueId value = contract(terms_[0], terms_[1], letters);
    terms_.erase(terms_.begin());
    terms_[0] = {letters, value};
  }

  ValueId contract(const Term& left, const Term& right, const std::string& letters) {
    return builder_.add(Op::einsum, {left.value, right.value},
                        {{"equation", left.letters + "," + right.letters + "->" + letters}}, "pair");
  }

  Graph& graph_;
  Builder builder_;
  std::string result_;
  std::vector<Term> terms_;
};

}  // namespace

bool pair_einsums(Graph& graph) {
  std::map<ValueId, ValueId> replacement;
  size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node node = graph.nodes[i];
    if (node.op != Op::einsum || node.operands.size() < 3) continue;
    auto f32 = [&](ValueId operand) { return graph.type(operand).dtype == DType::f32; };
    auto einsum = parse_einsum(node.attributes.text("equation"));
    if (!einsum || !std::ranges::all_of(node.operands, f32)) continue;
    Pairs pairs(graph, node, *einsum);
    if (pairs.can_be_paired()) replacement[node.results[0]] = pairs.make();
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  return true;
}

}  // namespace stitch
