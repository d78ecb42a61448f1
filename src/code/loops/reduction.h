// All ops that reduce rows, in one form: which elements make a row, what is accumulated in how many passes,
// and the statistics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "code/expression/statement.h"
#include "code/index.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace stitch::code::loops {

struct Reduction {
  int32_t node;
  ValueId operand;
  // The operand's shape, with channels split into groups if there are groups.
  Shape space;
  std::vector<bool> along;  // a dimension of `space` that is reduced
  bool grouped = false;     // dimensions 1 and 2 of space are the operand's dimension 1

  int64_t length() const;  // elements of a row
  int64_t rows() const;
  Shape kept_shape() const;
  Shape reduced_shape() const;
  // Indices in the operand of an element of a row.
  Indices space_at(const Indices& kept, const Indices& reduced) const;
  Indices operand_at(const Indices& space_indices) const;
  // The row needed for result element `at` of the node.
  Indices kept_of(const Graph& graph, const Indices& at) const;
};

// Empty for ops without a reduction.
std::optional<Reduction> reduction_of(const Graph& graph, int32_t node);

// One pass over a row.
struct Pass {
  Type type;            // of the accumulator
  Expression identity;  // its initial value
  std::string combine;  // type of a functor that combines two
  Expression neutral;   // an element without effect; none: unknown
  // Accumulates element `x`, at position `at` of the row.
  std::function<Statement(const Expression& accumulator, const Expression& x, const Expression& at)> step;
  // Statistics computed from the accumulator of a whole row, in this order.
  struct Statistic {
    std::string name;
    Type type;
    Expression value;
  };
  std::function<std::vector<Statistic>(const Expression& accumulator)> finish;
  std::string name = "sum";  // suffix of the accumulator's name
  // Applied to an element before `step`; elements of the result use it, too. None: the element itself.
  std::function<Expression(const Expression& x)> term = {};

  // A cheaper accumulator for a few elements, merged by `add`; none: no such.
  Type few = {};
  Expression no_few;

  Expression term_of(const Expression& x) const { return term ? term(x) : x; }
  Expression functor() const { return call(combine, {}); }
  Expression combined(const Expression& a, const Expression& b) const { return call(combine + "()", {a, b}); }
};

// `single`: everything in one pass, for rows read from memory each time. Otherwise as many passes as are best
// for accuracy and arithmetic, for rows held in registers. `name_of` makes names unique.
using NameOf = std::function<std::string(std::string_view)>;
struct Scheme {
  std::vector<Pass> passes;
  Expressions statistics;  // names of the statistics that the ops need, in their order
};
Scheme scheme_of(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of);
// The types of the statistics, in order.
std::vector<Type> statistic_types(const Graph& graph, const Reduction& reduction);
// The lowest or highest number of a type.
Expression extreme_of(DType dtype, bool lowest);

// Which nodes are expressions of single elements, and how far reductions may nest inside them.

// Longer reductions are not computed by one thread in a loop.
inline constexpr int64_t most_inlined = 16;

// Whether the node is an expression of single elements of its operands, i.e. not a reduction, scan, sort or
// scatter.
bool is_expression(const Graph& graph, int32_t node);

// Nested short reductions recompute the inner one for every element of the outer one, and a chain of them
// (Sinkhorn's alternating rows and columns) grows exponentially. Refuses too many operations in total.
Result<void> accepts_nesting(const Graph& graph, const plan::Region& region);

}  // namespace stitch::code::loops
