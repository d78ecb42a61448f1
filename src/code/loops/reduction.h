// Every op that looks at a whole row to say something about it, in one form: which elements make a row, what
// is accumulated over them in how many passes, and what follows from that.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

// One pass over a row. Texts mention the accumulator as `acc`, the element as `x`, its place in the row as
// `at`, and what earlier passes found by the names given to them.
struct Pass {
  std::string type;      // of the accumulator
  int64_t bytes = 0;     // its size
  std::string identity;  // what it starts with
  std::string combine;   // a functor that joins two
  std::string neutral;   // an element that changes nothing; empty: none is known
  std::function<std::string(const std::string& accumulator, const std::string& x, const std::string& at)>
      step;
  struct Finding {
    std::string name, type, text;
  };
  std::function<std::vector<Finding>(const std::string& accumulator)> finish;
};

// `single`: everything in one pass, for rows that are read from memory each time. Otherwise as many passes as
// accuracy and arithmetic like best, for rows that are held in registers. `name_of` makes names unique.
using NameOf = std::function<std::string(std::string_view)>;
struct Scheme {
  std::vector<Pass> passes;
  std::vector<std::string> findings;  // the names that the ops below need, in their order
};
Scheme scheme_of(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of);
// The types of the findings in order.
std::vector<std::string> finding_types(const Graph& graph, const Reduction& reduction);

}  // namespace stitch::code::loops
