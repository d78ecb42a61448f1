#include "oracle/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace stitch::oracle {

namespace {

struct Format {
  int mantissa;  // bits after the point
  int bias;
  int infinity() const { return (2 * bias + 1) << mantissa; }
};
constexpr Format half{10, 15}, bfloat{7, 127};

uint16_t encode(double value, Format format) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023, least = 1 - format.bias;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1), number = fraction | uint64_t{1} << 52;
  if (exponent == 1024)
    return static_cast<uint16_t>(sign | format.infinity() | (fraction ? 1 << (format.mantissa - 1) : 0));
  // Subnormals share the smallest exponent.
  const int dropped = 52 - format.mantissa + std::max(0, least - exponent);
  if (dropped > 53) return sign;
  const uint64_t rest = number & ((uint64_t{1} << dropped) - 1), tie = uint64_t{1} << (dropped - 1);
  uint64_t steps = number >> dropped;
  steps += rest > tie || (rest == tie && steps % 2 != 0);
  // `steps` includes the leading 1 of normal numbers, so a carry runs into the exponent.
  const int rounded = ((std::max(exponent, least) - least) << format.mantissa) + static_cast<int>(steps);
  return static_cast<uint16_t>(sign | std::min(rounded, format.infinity()));
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
double from_half_bits(uint16_t bits) {
  static const std::vector<double> all = [] {
    std::vector<double> out;
    for (int each = 0; each <= 0xffff; ++each) out.push_back(decode(static_cast<uint16_t>(each), half));
    return out;
  }();
  return all[bits];
}
double from_bfloat_bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace stitch::oracle
