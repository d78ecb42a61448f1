// Statements of generated C++ as trees.
#pragma once

#include <set>
#include <variant>

#include "code/expression/expression.h"

namespace stitch::code {

struct Statement;
using Block = std::vector<Statement>;

struct Declare {
  enum Storage : uint8_t {
    variable,
    constant,
    shared,         // __shared__
    dynamic_shared  // of the launch's shared memory, from byte `value` on
  };
  Storage storage = constant;
  Type type;
  std::string name;
  Expression value;              // none: uninitialised
  std::vector<int64_t> extents;  // of an array
};
struct Assign {
  Expression target, value;
  std::optional<Operator> op;  // +=, *=
};
// A call for its effects.
struct Evaluate {
  Expression call;
};
struct If {
  Expression condition;
  Block body;
  bool braces = true;  // or one statement on the same line
};
struct For {
  static constexpr int whole = -1;
  Type type;
  std::string variable;
  Expression begin, end;
  Expression step = 1;
  int unroll = 0;  // #pragma unroll so many times; `whole`: all
  Block body;
  bool braces = true;
};
struct While {
  Expression condition;
  Block body;
};
struct Return {
  Expression value;
};
struct Barrier {};  // of a block's threads

struct Statement {
  std::variant<Declare, Assign, Evaluate, If, For, While, Return, Barrier> what;
  std::string comment = {};  // trailing
};

Statement define_constant(Type type, std::string name, Expression value);
Statement define_variable(Type type, std::string name, Expression value = {},
                          std::vector<int64_t> extents = {});
Statement define_shared(Type type, std::string name, std::vector<int64_t> extents);
Statement assign(Expression target, Expression value, std::optional<Operator> op = {});
Statement evaluate(Expression call);
// The statement, under a condition if there is one.
Statement only_if(const Expression& condition, Statement statement);

// The body of a loop or condition; null: neither.
const Block* body_of(const Statement& statement);
// The expressions of a statement itself, without its body; some may be empty.
Expressions expressions_of(const Statement& statement);
// Names whose values are read; for an array that is only written, its indices but not the array.
std::set<std::string> names_read(const Block& block);
// The amount of work: nodes of all expressions.
int64_t operations(const Block& block);
// Removes unread constants, and variables and arrays that are only written.
void remove_unused(Block& block);
// Constants that only the next statement uses, whole, as what it stores or returns: it has their value
// itself.
void remove_relays(Block& block);
// Replaces loops of one iteration by their bodies.
void remove_single_iterations(Block& block);

// The one place where expressions and statements become text: parentheses where needed or helpful, lines of
// at most 110 columns.

std::string text_of(const Expression& expression);
// Each line indented by `indent` columns; #pragmas at the margin.
std::string text_of(const Block& block, size_t indent);

}  // namespace stitch::code
