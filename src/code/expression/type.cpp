#include "code/expression/type.h"

#include <charconv>
#include <cmath>

#include "code/names.h"

namespace stitch::code {

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
