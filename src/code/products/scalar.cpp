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
  auto own = [&](std::string_view name) { return format("stitch::{}({})", name, x); };  // loops_math.h
  auto literal = [&](double value) { return literal_text(value, number); };
  switch (node.op) {
    case Op::relu: return own("rectified");
    case Op::gelu: return own(node.attributes.text("approximate") == "tanh" ? "gelu_by_tanh" : "gelu");
    case Op::silu: return own("swish");
    case Op::mish: return own("mish");
    case Op::sigmoid: return own("logistic");
    case Op::tanh: return call("tanh");
    case Op::exp: return call("exp");
    case Op::neg: return format("-{}", x);
    case Op::abs: return format("{0} < 0 ? -{0} : {0}", x);
    case Op::sqrt: return call("sqrt");
    case Op::leaky_relu:
      return format("{0} > 0 ? {0} : {1} * {0}", x, literal(node.attributes.number("slope")));
    case Op::hardswish: return own("hardswish");
    case Op::clamp:
      return format("stitch::clamped<{}>({}, {}, {})", number, x, literal(node.attributes.number("low")),
                    literal(node.attributes.number("high")));
    case Op::add: return format("{} + {}", in[0], in[1]);
    case Op::sub: return format("{} - {}", in[0], in[1]);
    case Op::mul: return format("{} * {}", in[0], in[1]);
    case Op::div: return format("{} / {}", in[0], in[1]);
    case Op::minimum: return format("stitch::smaller({}, {})", in[0], in[1]);
    case Op::maximum: return format("stitch::larger({}, {})", in[0], in[1]);
    default: throw Bug("no scalar expression");
  }
}

}  // namespace stitch::code
