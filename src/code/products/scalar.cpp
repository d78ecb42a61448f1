#include "code/products/scalar.h"

#include <cmath>

#include "base/text.h"

namespace stitch::code {

std::string literal_text(double value, std::string_view number) {
  if (number == "int64_t") return std::to_string(static_cast<int64_t>(value));
  std::string suffix = number == "float" ? "f" : "";
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") + (number == "float" ? "INFINITY" : "(1.0 / 0.0)");
  return number_text(value) + suffix;
}

bool is_scalar(const Node& node) {
  switch (node.op) {
    case Op::relu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::sigmoid:
    case Op::tanh:
    case Op::exp:
    case Op::neg:
    case Op::abs:
    case Op::sqrt:
    case Op::leaky_relu:
    case Op::hardswish:
    case Op::clamp:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::minimum:
    case Op::maximum: return true;
    case Op::div: return node.attributes.text("rounding") == "none";
    default: return false;
  }
}

std::string scalar_text(const Node& node, std::span<const std::string> in, std::string_view number) {
  const std::string& x = in[0];
  bool single = number == "float";
  auto call = [&](std::string_view name) { return format("{}{}({})", name, single ? "f" : "", x); };
  auto literal = [&](double value) { return literal_text(value, number); };
  switch (node.op) {
    case Op::relu: return format("{0} < 0 ? {1} : {0}", x, literal(0));
    case Op::gelu:
      if (node.attributes.text("approximate") == "tanh")
        return format("{0} * {1} * ({2} + {3}({4} * ({1} + {5} * {1} * {1} * {1})))", literal(0.5), x,
                      literal(1), single ? "tanhf" : "tanh", literal(0.7978845608028654), literal(0.044715));
      return format("{0} * {1} * {2}(-{1} * {3})", literal(0.5), x, single ? "erfcf" : "erfc",
                    literal(0.7071067811865476));
    case Op::silu: return format("{0} / ({1} + {2}(-{0}))", x, literal(1), single ? "expf" : "exp");
    case Op::mish:  // x · tanh(ln(1 + e^x)), and e^x must not overflow
      return format("{0} * {1}({0} > {2} ? {0} : {3}({4}({0})))", x, single ? "tanhf" : "tanh", literal(20),
                    single ? "log1pf" : "log1p", single ? "expf" : "exp");
    case Op::sigmoid: return format("{1} / ({1} + {2}(-{0}))", x, literal(1), single ? "expf" : "exp");
    case Op::tanh: return call("tanh");
    case Op::exp: return call("exp");
    case Op::neg: return format("-{}", x);
    case Op::abs: return format("{0} < 0 ? -{0} : {0}", x);
    case Op::sqrt: return call("sqrt");
    case Op::leaky_relu:
      return format("{0} > 0 ? {0} : {1} * {0}", x, literal(node.attributes.number("slope")));
    case Op::hardswish: {
      std::string raised = format("({0} + {1})", x, literal(3));
      return format("{0} * ({1} < 0 ? {2} : {1} > {3} ? {3} : {1}) / {3}", x, raised, literal(0), literal(6));
    }
    case Op::clamp: {
      std::string low = literal(node.attributes.number("low")),
                  high = literal(node.attributes.number("high"));
      return format("{0} < {1} ? {1} : {0} > {2} ? {2} : {0}", x, low, high);
    }
    case Op::add: return format("{} + {}", in[0], in[1]);
    case Op::sub: return format("{} - {}", in[0], in[1]);
    case Op::mul: return format("{} * {}", in[0], in[1]);
    case Op::div: return format("{} / {}", in[0], in[1]);
    // A NaN wins, whichever side it is on.
    case Op::minimum: return format("{0} < {1} || {0} != {0} ? {0} : {1}", in[0], in[1]);
    case Op::maximum: return format("{0} > {1} || {0} != {0} ? {0} : {1}", in[0], in[1]);
    default: throw Bug("no scalar expression");
  }
}

}  // namespace stitch::code
