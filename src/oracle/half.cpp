#include "oracle/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace stitch::oracle {

namespace {

struct Format {
  int mantissa;  // bits after the point
  int bias;
  int infinity() const { return (2 * bias + 1) << mantissa; }
};
constexpr Format half{10, 15}, bfloat{7, 127};

uint16_t encode(double value, Format format) {
  int sign = std::signbit(value) ? 0x8000 : 0;
  double size = std::fabs(value);
  int bits;
  if (std::isnan(value)) {
    bits = format.infinity() | 1 << (format.mantissa - 1);
  } else if (size == 0) {
    bits = 0;
  } else if (std::isinf(value) || std::ilogb(size) > format.bias) {
    bits = format.infinity();
  } else {
    int exponent = std::max(std::ilogb(size), 1 - format.bias);  // subnormals share the smallest one
    int steps = static_cast<int>(std::nearbyint(std::scalbn(size, format.mantissa - exponent)));
    // `steps` includes the leading 1 of normal numbers, so a carry runs into the exponent.
    bits = ((exponent + format.bias - 1) << format.mantissa) + steps;
  }
  return static_cast<uint16_t>(sign | bits);
}

double decode(uint16_t bits, Format format) {
  int exponent = (bits & 0x7fff) >> format.mantissa, steps = bits & ((1 << format.mantissa) - 1);
  double size;
  if (exponent == 2 * format.bias + 1)
    size = steps ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    size = std::scalbn(steps, 1 - format.bias - format.mantissa);
  else
    size = std::scalbn(steps + (1 << format.mantissa), exponent - format.bias - format.mantissa);
  return bits & 0x8000 ? -size : size;
}

}  // namespace

uint16_t to_half_bits(double value) { return encode(value, half); }
uint16_t to_bfloat_bits(double value) { return encode(value, bfloat); }
double from_half_bits(uint16_t bits) { return decode(bits, half); }
double from_bfloat_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace stitch::oracle
