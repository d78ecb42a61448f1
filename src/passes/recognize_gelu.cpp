// GELU written out becomes one node, which products fuse into their epilogues:
//   x/2 · (1 + erf(x/√2))   and   x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
// with the factors in any order: expressions are compared as polynomials, not as trees.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

// In two unknowns: exponents of each, and the coefficient.
using Polynomial = std::map<std::pair<int, int>, double>;

constexpr int most_degree = 4, most_depth = 10;

std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [x, factor] : a)
    for (const auto& [y, other] : b) {
      const std::pair<int, int> degree{x.first + y.first, x.second + y.second};
      if (degree.first + degree.second > most_degree) return std::nullopt;
      out[degree] += factor * other;
    }
  return out;
}

bool agrees(const Polynomial& found, const Polynomial& wanted) {
  constexpr double close = 1e-10;  // relative: constants written with ten digits
  for (const auto& [degree, factor] : found)
    if (!wanted.contains(degree) && std::abs(factor) > close) return false;
  for (const auto& [degree, factor] : wanted) {
    auto at = found.find(degree);
    if (at == found.end() || std::abs(at->second - factor) > close * std::abs(factor)) return false;
  }
  return true;
}

class Gelus {
 public:
  explicit Gelus(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node node = graph_.nodes[n];
      if (node.op == Op::tanh || node.op == Op::erf) rewrite(node);
    }
    if (replacement_.empty()) return false;
    replace_uses(graph_, replacement_);
    return true;
  }

 private:
  void rewrite(const Node& bend) {
    const ValueId of = bend.operands[0], bent = bend.results[0];
    const double slope = std::sqrt(2 / std::numbers::pi);
    const Polynomial wanted = bend.op == Op::erf ? Polynomial{{{1, 0}, std::numbers::sqrt2 / 2}}
                                                 : Polynomial{{{1, 0}, slope}, {{3, 0}, slope * 0.044715}};
    for (ValueId x : ancestors(of)) {
      if (graph_.type(x) != graph_.type(bent)) continue;
      auto inner = polynomial(of, x, ValueId::none, 0);
      if (!inner || !agrees(*inner, wanted)) continue;
      if (auto whole = half_of_both(bent, x)) {
        const Node node = *maker(*whole);
        replacement_[*whole] =
            Builder(graph_, node)
                .add(Op::gelu, {x}, {{"approximate", std::string(bend.op == Op::erf ? "none" : "tanh")}},
                     graph_[*whole].name + ".gelu");
        return;
      }
    }
  }

  // Finds x/2 + x/2 · bent among the nodes computed from `bent`.
  std::optional<ValueId> half_of_both(ValueId bent, ValueId x) const {
    const Polynomial wanted = {{{1, 0}, 0.5}, {{1, 1}, 0.5}};
    ValueId at = bent;
    for (int step = 0; step < 4; ++step) {
      const auto& next = users_[index_of(at)];
      if (next.size() != 1) return std::nullopt;
      const Node& node = graph_.node(next[0]);
      if (node.op != Op::add && node.op != Op::mul && node.op != Op::div) return std::nullopt;
      at = node.results[0];
      auto found = polynomial(at, x, bent, 0);
      if (found && agrees(*found, wanted) && graph_.type(at) == graph_.type(x)) return at;
    }
    return std::nullopt;
  }

  std::vector<ValueId> ancestors(ValueId of) const {
    std::vector<ValueId> out{of};
    for (size_t i = 0; i < out.size() && out.size() < 16; ++i)
      if (const Node* node = maker(out[i]);
          node && (node->op == Op::add || node->op == Op::mul || node->op == Op::div))
        for (ValueId operand : node->operands)
          if (std::ranges::find(out, operand) == out.end()) out.push_back(operand);
    return out;
  }

  std::optional<Polynomial> polynomial(ValueId value, ValueId x, ValueId y, int depth) const {
    if (value == x) return Polynomial{{{1, 0}, 1.0}};
    if (value == y) return Polynomial{{{0, 1}, 1.0}};
    const Node* node = maker(value);
    if (!node || depth > most_depth) return std::nullopt;
    if (node->op == Op::full && graph_.type(value).elements() == 1)
      return Polynomial{{{0, 0}, node->attributes.number("value")}};
    if (node->op != Op::add && node->op != Op::mul && node->op != Op::div) return std::nullopt;
    if (node->op == Op::div && node->attributes.text("rounding") != "none") return std::nullopt;
    auto left = polynomial(node->operands[0], x, y, depth + 1),
         right = polynomial(node->operands[1], x, y, depth + 1);
    if (!left || !right) return std::nullopt;
    if (node->op == Op::mul) return times(*left, *right);
    if (node->op == Op::div) {
      if (right->size() != 1 || !right->contains({0, 0}) || right->at({0, 0}) == 0) return std::nullopt;
      for (auto& [degree, factor] : *left) factor /= right->at({0, 0});
      return left;
    }
    for (const auto& [degree, factor] : *right) (*left)[degree] += factor;
    return left;
  }

  const Node* maker(ValueId value) const {
    if (value == ValueId::none || index_of(value) >= makers_.size()) return nullptr;
    const int32_t at = makers_[index_of(value)];
    return at < 0 ? nullptr : &graph_.node(at);
  }

  Graph& graph_;
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool recognize_gelu(Graph& graph) { return Gelus(graph).run(); }

}  // namespace stitch
