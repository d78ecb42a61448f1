// Values out of nothing.
#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

std::string Emitter::created(ValueId id, const Node& node, const Indices& at) {
  const Attributes& attributes = node.attributes;
  const TensorType& type = graph().type(id);
  auto wrapped = [&](double number) {
    if (type.dtype != DType::i8 && type.dtype != DType::u8 && type.dtype != DType::i32)
      return literal(number, type.dtype);
    if (type.dtype == DType::i32)
      return std::to_string(number <= -0x1p31      ? INT32_MIN
                            : number >= 0x1p31 - 1 ? INT32_MAX
                            : number != number     ? 0
                                                   : static_cast<int64_t>(number));
    return format("stitch::wrapped<{}>({})", stored_type(type.dtype), literal(number, DType::i64));
  };
  if (node.op == Op::full) return wrapped(attributes.number("value"));
  if (node.op == Op::iota) {
    double start = attributes.number("start"), step = attributes.number("step");
    bool whole = start == static_cast<double>(static_cast<int64_t>(start)) &&
                 step == static_cast<double>(static_cast<int64_t>(step));
    if (!is_floating(type.dtype) && whole && type.dtype != DType::boolean) {
      Index value = at[0] * static_cast<int64_t>(step) + static_cast<int64_t>(start);
      bool fits = type.dtype == DType::i64 || type.dtype == DType::i32;
      std::string text = value.text();
      return fits ? (text.find(' ') == std::string::npos ? text : "(" + text + ")")
                  : format("stitch::wrapped<{}>({})", stored_type(type.dtype), text);
    }
    std::string number = format("{} + {} * static_cast<double>({})", literal(start, DType::f64),
                                literal(step, DType::f64), at[0].text());
    if (is_floating(type.dtype))
      return type.dtype == DType::f64 ? number : format("static_cast<float>({})", number);
    return cast("(" + number + ")", DType::f64, type.dtype);
  }
  std::string seed = value(node.operands[0], {});
  std::string bits = format("stitch::random_bits({}, {}, {})", seed, attributes.integer("stream"),
                            flatten(at, type.shape).text());
  const std::string& kind = attributes.text("distribution");
  double a = attributes.number("a"), b = attributes.number("b");
  DType real = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  if (kind == "bernoulli")
    return cast(format("stitch::random_bernoulli({}, {})", literal(a, DType::f64), bits), DType::boolean,
                type.dtype);
  if (kind == "integers") {
    std::string number = format("stitch::random_integer({}, {}, {})", literal(a, DType::f64),
                                literal(b - a, DType::f64), bits);
    return is_floating(type.dtype) ? (real == DType::f64 ? number : format("static_cast<float>({})", number))
                                   : cast(number, DType::f64, type.dtype);
  }
  std::string number =
      kind == "uniform"
          ? format("stitch::random_uniform({}, {}, {})", literal(a, real), literal(b - a, real), bits)
          : format("stitch::random_normal({}, {}, {})", literal(a, real), literal(b, real), bits);
  return is_floating(type.dtype) ? number : cast(number, real, type.dtype);
}

}  // namespace stitch::code::loops
