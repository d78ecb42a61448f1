#include "code/expression/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "code/names.h"

namespace stitch::code {

Expression::Expression(int64_t integer)
    : Expression(Node{.kind = Kind::integer, .integer = integer, .name = {}, .operands = {}}) {}

bool Expression::is_simple() const {
  switch (node_->kind) {
    case Kind::number:
    case Kind::integer:
    case Kind::name: return true;
    case Kind::member: return node_->operands[0].is_simple();
    case Kind::element: return node_->operands[0].is_simple() && node_->operands[1].is_simple();
    default: return false;
  }
}

std::optional<double> Expression::constant() const {
  if (empty()) return std::nullopt;
  if (node_->kind == Kind::number) return node_->number;
  if (node_->kind == Kind::integer) return static_cast<double>(node_->integer);
  return std::nullopt;
}

std::string Expression::root() const {
  if (node_->kind == Kind::element) return node_->operands[0].root();
  return node_->kind == Kind::name ? node_->name : "";
}

void Expression::visit(const std::function<void(const Node&)>& see) const {
  if (empty()) return;
  see(*node_);
  for (const Expression& operand : node_->operands) operand.visit(see);
}

Expression Expression::with(const std::string& variable, const Expression& value) const {
  if (empty() || (node_->kind == Kind::name && node_->name != variable)) return *this;
  if (node_->kind == Kind::name) return value;
  Node node = *node_;
  for (Expression& operand : node.operands) operand = operand.with(variable, value);
  if (node.kind == Kind::binary) {
    const Expression &a = node.operands[0], &b = node.operands[1];
    const bool zero_a = a->kind == Kind::integer && a->integer == 0;
    if (zero_a && node.op == Operator::multiply) return a;
    if (zero_a && node.op == Operator::add) return b;
    if (b->kind == Kind::integer && b->integer == 0 && node.op == Operator::add) return a;
  }
  return Expression(std::move(node));
}

bool Expression::has_effects() const {
  bool found = false;
  visit([&](const Node& node) { found |= node.collective; });
  return found;
}

namespace {

using Kind = Expression::Kind;

Expression made(Kind kind, std::string name, Expressions operands) {
  return Expression({.kind = kind, .name = std::move(name), .operands = std::move(operands)});
}

}  // namespace

Expression number(double value, DType dtype) {
  return Expression({.kind = Kind::number, .dtype = dtype, .number = value, .name = {}, .operands = {}});
}
Expression named(std::string name) { return made(Kind::name, std::move(name), {}); }
Expression quoted(std::string text) { return made(Kind::text, std::move(text), {}); }
Expression element(const Expression& array, const Expression& index) {
  return made(Kind::element, {}, {array, index});
}
Expression element(const std::string& array, const Expression& index) { return element(named(array), index); }
Expression member(const Expression& object, std::string name) {
  return made(Kind::member, std::move(name), {object});
}
Expression unary(Operator op, const Expression& x) {
  return Expression({.kind = Kind::unary, .op = op, .name = {}, .operands = {x}});
}
Expression binary(Operator op, const Expression& a, const Expression& b) {
  return Expression({.kind = Kind::binary, .op = op, .name = {}, .operands = {a, b}});
}
Expression select(const Expression& condition, const Expression& a, const Expression& b) {
  return made(Kind::conditional, {}, {condition, a, b});
}
Expression call(std::string function, Expressions arguments) {
  return made(Kind::call, std::move(function), std::move(arguments));
}
Expression collective(std::string function, Expressions arguments) {
  return Expression({.kind = Kind::call,
                     .collective = true,
                     .name = std::move(function),
                     .operands = std::move(arguments)});
}
Expression method(const Expression& object, std::string name, Expressions arguments) {
  arguments.insert(arguments.begin(), object);
  return made(Kind::method, std::move(name), std::move(arguments));
}
Expression braced(std::string type, Expressions members) {
  return made(Kind::braces, std::move(type), std::move(members));
}
Expression static_cast_to(const Type& type, const Expression& x) {
  return call("static_cast<" + type.name + ">", {x});
}

Expression operator+(const Expression& a, const Expression& b) { return binary(Operator::add, a, b); }
Expression operator-(const Expression& a, const Expression& b) { return binary(Operator::subtract, a, b); }
Expression operator*(const Expression& a, const Expression& b) { return binary(Operator::multiply, a, b); }
Expression operator/(const Expression& a, const Expression& b) { return binary(Operator::divide, a, b); }
Expression operator%(const Expression& a, const Expression& b) { return binary(Operator::remainder, a, b); }
Expression operator<(const Expression& a, const Expression& b) { return binary(Operator::less, a, b); }
Expression operator<=(const Expression& a, const Expression& b) { return binary(Operator::less_equal, a, b); }
Expression operator>(const Expression& a, const Expression& b) { return binary(Operator::greater, a, b); }
Expression operator>=(const Expression& a, const Expression& b) {
  return binary(Operator::greater_equal, a, b);
}
Expression operator==(const Expression& a, const Expression& b) { return binary(Operator::equal, a, b); }
Expression operator!=(const Expression& a, const Expression& b) { return binary(Operator::not_equal, a, b); }

Expression appended(const Expression& a, const Expression& b) {
  const bool sum = b->kind == Kind::binary && (b->op == Operator::add || b->op == Operator::subtract);
  return sum ? binary(b->op, appended(a, b->operands[0]), b->operands[1]) : a + b;
}

namespace {

// Chains one operator from left to right: a && b && c.
Expression chained(Operator op, const Expression& a, const Expression& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  if (b->kind != Kind::binary || b->op != op) return binary(op, a, b);
  return binary(op, chained(op, a, b->operands[0]), b->operands[1]);
}

}  // namespace

Expression both(const Expression& a, const Expression& b) { return chained(Operator::logical_and, a, b); }
Expression either(const Expression& a, const Expression& b) { return chained(Operator::logical_or, a, b); }

namespace {

template <class T>
std::string shortest(T value) {
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, value);
  std::string out(digits, end.ptr);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

}  // namespace

Type pointer_to(const Type& type, bool constant) {
  return {(constant ? "const " : "") + type.name + "*", 8, true};
}

Type stored_type(DType dtype) { return {std::string(element_type(dtype)), size_of(dtype)}; }

Type computed_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return double_type;
    case DType::f32:
    case DType::f16:
    case DType::bf16: return {"float", 4};
    case DType::i64: return int64_type;
    case DType::boolean: return bool_type;
    default: return int_type;
  }
}

std::string literal(double value, DType dtype) {
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  if (is_integer(dtype)) {
    if (std::isnan(value)) return "0";
    if (value <= -0x1p63) return "INT64_MIN";
    if (value >= 0x1p63) return "INT64_MAX";
    return std::to_string(static_cast<int64_t>(value));
  }
  if (dtype == DType::f64) {
    if (std::isnan(value)) return "double(NAN)";
    if (std::isinf(value)) return value < 0 ? "-double(INFINITY)" : "double(INFINITY)";
    return shortest(value);
  }
  float rounded = std::fabs(value) >= 0x1.ffffffp127
                      ? std::copysign(INFINITY, static_cast<float>(value > 0 ? 1 : -1))
                      : static_cast<float>(value);
  if (std::isnan(value)) return "NAN";
  if (std::isinf(rounded)) return rounded < 0 ? "-INFINITY" : "INFINITY";
  return shortest(rounded) + "f";
}

}  // namespace stitch::code
