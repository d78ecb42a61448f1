// Every op that looks at a whole row to say something about it, in one form: which elements make a row, what
// is accumulated over them in how many passes, and what follows from that.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "code/expression/statement.h"
#include "code/index.h"
#include "graph/graph.h"

namespace stitch::code::loops {

struct Reduction {
  int32_t node;
  ValueId operand;
  // The operand's elements as they are grouped: its own shape, but with channels split where groups are.
  Shape space;
  std::vector<bool> along;  // a dimension of `space` that is reduced
  bool grouped = false;     // dimensions 1 and 2 of space are the operand's dimension 1

  int64_t length() const;  // elements of a row
  int64_t rows() const;
  Shape kept_shape() const;
  Shape reduced_shape() const;
  // Where an element of a row lies in the operand.
  Indices space_at(const Indices& kept, const Indices& reduced) const;
  Indices operand_at(const Indices& space_indices) const;
  // The row that result element `at` of the node needs.
  Indices kept_of(const Graph& graph, const Indices& at) const;
};

// Nothing for ops that reduce nothing.
std::optional<Reduction> reduction_of(const Graph& graph, int32_t node);

// One pass over a row.
struct Pass {
  Type type;            // of the accumulator
  Expression identity;  // what it starts with
  std::string combine;  // the type of a functor that joins two
  Expression neutral;   // an element that changes nothing; none: no such is known
  // Takes the element `x`, at place `at` of the row, into the accumulator.
  std::function<Statement(const Expression& accumulator, const Expression& x, const Expression& at)> step;
  // What follows from the accumulator of the whole row, in this order.
  struct Statistic {
    std::string name;
    Type type;
    Expression value;
  };
  std::function<std::vector<Statistic>(const Expression& accumulator)> finish;

  // Takes a few elements at less cost, then goes into the accumulator by its `add`; none: no such.
  Type few = {};
  Expression no_few;

  Expression functor() const { return call(combine, {}); }
  Expression combined(const Expression& a, const Expression& b) const { return call(combine + "()", {a, b}); }
};

// `single`: everything in one pass, for rows that are read from memory each time. Otherwise as many passes as
// accuracy and arithmetic like best, for rows that are held in registers. `name_of` makes names unique.
using NameOf = std::function<std::string(std::string_view)>;
struct Scheme {
  std::vector<Pass> passes;
  Expressions statistics;  // the names that the ops below need, in their order
};
Scheme scheme_of(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of);
// The types of the statistics in order.
std::vector<Type> statistic_types(const Graph& graph, const Reduction& reduction);
// The number of a type that every other one is above, or below.
Expression extreme_of(DType dtype, bool lowest);

}  // namespace stitch::code::loops
