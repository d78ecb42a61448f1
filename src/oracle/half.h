// Conversion from and to 16-bit floats.
#pragma once

#include <cstdint>

namespace stitch::oracle {

// Rounded once, to nearest, ties to even. Going through float would round twice.
uint16_t to_half_bits(double value);
uint16_t to_bfloat_bits(double value);
double from_half_bits(uint16_t bits);
double from_bfloat_bits(uint16_t bits);

}  // namespace stitch::oracle
