// Integer intrinsics: counting, permuting and multiplying bits.
#pragma once

#include <cstdint>
#include <cstring>

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
// Selects four bytes of the eight in y:x; bit 3 of a selector replicates the byte's sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  const uint64_t both = static_cast<uint64_t>(y) << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned selector = selectors >> 4 * i & 0xF;
    unsigned byte = static_cast<unsigned>(both >> 8 * (selector & 7)) & 0xFF;
    if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
    out |= byte << 8 * i;
  }
  return out;
}
// hi:lo shifted: the upper word of a left shift, the lower word of a right shift. _l and _r wrap the count,
// _lc and _rc clamp it.
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
  shift = shift < 32 ? shift : 32;
  return static_cast<unsigned>((static_cast<uint64_t>(hi) << 32 | lo) << shift >> 32);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(hi) << 32 | lo) >> (shift < 32 ? shift : 32));
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return __funnelshift_lc(lo, hi, shift & 31);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return __funnelshift_rc(lo, hi, shift & 31);
}

inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(uint64_t{x} * y >> 32); }
inline int __mulhi(int x, int y) { return static_cast<int>(int64_t{x} * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
inline int __mul24(int x, int y) {
  return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8));
}
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xFFFFFF) * (y & 0xFFFFFF); }
inline unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                    : static_cast<unsigned>(y) - static_cast<unsigned>(x));
}
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x > y ? x - y : y - x); }
inline int __hadd(int x, int y) { return static_cast<int>((int64_t{x} + y) >> 1); }
inline int __rhadd(int x, int y) { return static_cast<int>((int64_t{x} + y + 1) >> 1); }
inline unsigned __uhadd(unsigned x, unsigned y) { return static_cast<unsigned>((uint64_t{x} + y) >> 1); }
inline unsigned __urhadd(unsigned x, unsigned y) { return static_cast<unsigned>((uint64_t{x} + y + 1) >> 1); }

// Four 8-bit, or two 16-bit and 8-bit, products added to c.
template <class Part>
inline Part stitch_byte(unsigned word, int i) {
  return static_cast<Part>(word >> 8 * i & 0xFF);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += stitch_byte<int8_t>(static_cast<unsigned>(a), i) * stitch_byte<int8_t>(static_cast<unsigned>(b), i);
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += stitch_byte<uint8_t>(a, i) * stitch_byte<uint8_t>(b, i);
  return c;
}
inline int __dp2a_lo(int a, int b, int c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<int16_t>(a >> 16 * i) * stitch_byte<int8_t>(static_cast<unsigned>(b), i);
  return c;
}
inline int __dp2a_hi(int a, int b, int c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<int16_t>(a >> 16 * i) * stitch_byte<int8_t>(static_cast<unsigned>(b), i + 2);
  return c;
}

template <class To, class From>
inline To stitch_bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline int __float_as_int(float x) { return stitch_bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return stitch_bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return stitch_bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return stitch_bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return stitch_bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return stitch_bits_as<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double(static_cast<long long>(static_cast<uint64_t>(static_cast<unsigned>(hi)) << 32 |
                                                     static_cast<unsigned>(lo)));
}
