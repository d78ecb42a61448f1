// Expressions of generated C++ as trees. Code generation inspects the tree, never the text, which print.cpp
// writes once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/type.h"

namespace stitch::code {

// Types and numbers of generated C++.

struct Type {
  std::string name;      // C++ spelling: float, stitch::Moments, const float*
  int64_t bytes = 0;     // of one value, if known
  bool pointer = false;  // its const comes after it

  bool operator==(const Type& other) const { return name == other.name; }
};

inline const Type auto_type{"auto"}, bool_type{"bool", 1}, int_type{"int", 4}, int64_type{"int64_t", 8},
    uint64_type{"uint64_t", 8}, double_type{"double", 8};

Type pointer_to(const Type& type, bool constant);

// In memory: float, __half, int64_t, …
Type stored_type(DType dtype);
// In computation: 16-bit floats as float, narrow integers as int.
Type computed_type(DType dtype);

// A number of the computed type. Floats with the fewest digits that read back exactly.
std::string literal(double value, DType dtype);

enum class Operator : uint8_t {
  negate,
  logical_not,
  bitwise_not,
  multiply,
  divide,
  remainder,
  add,
  subtract,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  bitwise_and,
  bitwise_xor,
  bitwise_or,
  logical_and,
  logical_or,
};

class Expression {
 public:
  enum class Kind : uint8_t {
    number,       // of a dtype
    integer,      // of an index
    name,         // a variable, a parameter, a constant of C
    text,         // a string literal
    element,      // operand 0 [operand 1]
    member,       // operand 0 . name
    unary,        // op operand 0
    binary,       // operand 0 op operand 1
    conditional,  // operand 0 ? operand 1 : operand 2
    call,         // name(operands)
    method,       // operand 0 . name(the other operands)
    braces,       // name{operands}
  };
  struct Node {
    Kind kind;
    Operator op = Operator::add;
    DType dtype = DType::f32;
    bool collective = false;  // a call made by all threads of a block, or by several blocks together
    double number = 0;
    int64_t integer = 0;
    std::string name;
    std::vector<Expression> operands;
  };

  Expression() = default;  // none
  Expression(int64_t integer);
  Expression(int integer) : Expression(static_cast<int64_t>(integer)) {}
  explicit Expression(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}

  bool empty() const { return node_ == nullptr; }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_.get(); }

  // A name, a number, or a member or element of a name: as short as a variable would be.
  bool is_simple() const;
  // The value of a number or an integer.
  std::optional<double> constant() const;
  // The variable that an assignment changes: x of x[i][j]; empty: none.
  std::string root() const;
  // Every node of the tree.
  void visit(const std::function<void(const Node&)>& see) const;
  // With another expression in place of a variable.
  Expression with(const std::string& variable, const Expression& value) const;
  // Whether a call in it has side effects.
  bool has_effects() const;

 private:
  std::shared_ptr<const Node> node_;
};
using Expressions = std::vector<Expression>;

Expression number(double value, DType dtype);
Expression named(std::string name);
Expression quoted(std::string text);
Expression element(const Expression& array, const Expression& index);
Expression element(const std::string& array, const Expression& index);
Expression member(const Expression& object, std::string name);
Expression unary(Operator op, const Expression& x);
Expression binary(Operator op, const Expression& a, const Expression& b);
Expression select(const Expression& condition, const Expression& a, const Expression& b);
Expression call(std::string function, Expressions arguments);
// A call that synchronises threads, so it is kept even if its value is unused.
Expression collective(std::string function, Expressions arguments);
Expression method(const Expression& object, std::string name, Expressions arguments);
Expression braced(std::string type, Expressions members);
Expression static_cast_to(const Type& type, const Expression& x);

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator%(const Expression& a, const Expression& b);
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator>(const Expression& a, const Expression& b);
Expression operator>=(const Expression& a, const Expression& b);
Expression operator==(const Expression& a, const Expression& b);
Expression operator!=(const Expression& a, const Expression& b);
// a + b with the terms of b appended one by one, e.g. an address and an index.
Expression appended(const Expression& a, const Expression& b);
// a && b and a || b; if one is empty, the other.
Expression both(const Expression& a, const Expression& b);
Expression either(const Expression& a, const Expression& b);

}  // namespace stitch::code
