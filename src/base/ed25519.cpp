#include "base/ed25519.h"

#include <algorithm>

#include "base/sha512.h"

namespace stitch {

namespace {

__extension__ using Wide = unsigned __int128;

// Modulo p = 2^255 - 19, five digits of 51 bits. Digits may be a little longer between operations.
struct Field {
  std::array<uint64_t, 5> digit{};
};
constexpr uint64_t digit_mask = (uint64_t{1} << 51) - 1;

Field small(uint64_t value) { return {{value, 0, 0, 0, 0}}; }

Field operator+(const Field& a, const Field& b) {
  Field out;
  uint64_t carry = 0;
  for (size_t i = 0; i < 5; ++i) {
    const uint64_t sum = a.digit[i] + b.digit[i] + carry;
    out.digit[i] = sum & digit_mask;
    carry = sum >> 51;
  }
  out.digit[0] += 19 * carry;
  return out;
}

Field operator-(const Field& a, const Field& b) {
  // 4p is added first: no digit goes below zero.
  Field raised;
  for (size_t i = 0; i < 5; ++i) raised.digit[i] = a.digit[i] + 4 * digit_mask - (i == 0 ? 72 : 0);
  Field out;
  uint64_t carry = 0;
  for (size_t i = 0; i < 5; ++i) {
    const uint64_t rest = raised.digit[i] - b.digit[i] + carry;
    out.digit[i] = rest & digit_mask;
    carry = rest >> 51;
  }
  out.digit[0] += 19 * carry;
  return out;
}

Field operator*(const Field& a, const Field& b) {
  std::array<Wide, 5> sum{};
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 5; ++j) {
      const uint64_t factor = i + j < 5 ? b.digit[j] : 19 * b.digit[j];
      sum[(i + j) % 5] += Wide{a.digit[i]} * factor;
    }
  Field out;
  Wide carry = 0;
  for (size_t i = 0; i < 5; ++i) {
    carry += sum[i];
    out.digit[i] = static_cast<uint64_t>(carry) & digit_mask;
    carry >>= 51;
  }
  const Wide first = out.digit[0] + 19 * carry;
  out.digit[0] = static_cast<uint64_t>(first) & digit_mask;
  out.digit[1] += static_cast<uint64_t>(first >> 51);
  return out;
}

// a^e, where e in binary is `ones` ones and then the `tail_bits` bits of `tail`.
Field power(const Field& a, int ones, uint64_t tail, int tail_bits) {
  Field out = small(1);
  for (int i = 0; i < ones; ++i) out = out * out * a;
  for (int i = tail_bits - 1; i >= 0; --i) {
    out = out * out;
    if (tail >> i & 1) out = out * a;
  }
  return out;
}

Field inverse(const Field& a) { return power(a, 250, 0b01011, 5); }  // a^(p - 2), p - 2 = 2^255 - 21

KeyBytes bytes_of(const Field& a) {
  // Twice: afterwards every digit is below 2^51, the whole below 2^255.
  Field x = a + small(0);
  x = x + small(0);
  // p is subtracted if it fits: x + 19 reaches 2^255 then.
  uint64_t carry = 19;
  for (size_t i = 0; i < 5; ++i) carry = (x.digit[i] + carry) >> 51;
  carry *= 19;
  for (size_t i = 0; i < 5; ++i) {
    carry += x.digit[i];
    x.digit[i] = carry & digit_mask;
    carry >>= 51;
  }
  KeyBytes out{};
  for (size_t bit = 0; bit < 255; ++bit)
    out[bit / 8] |= static_cast<uint8_t>((x.digit[bit / 51] >> (bit % 51) & 1) << (bit % 8));
  return out;
}

Field field_of(const KeyBytes& bytes) {
  Field out;
  for (size_t bit = 0; bit < 255; ++bit)
    out.digit[bit / 51] |= uint64_t{bytes[bit / 8] >> (bit % 8) & 1u} << (bit % 51);
  return out;
}

bool operator==(const Field& a, const Field& b) { return bytes_of(a) == bytes_of(b); }
bool is_odd(const Field& a) { return bytes_of(a)[0] & 1; }

// -x^2 + y^2 = 1 + d x^2 y^2, in extended coordinates: x = X/Z, y = Y/Z, xy = T/Z.
struct Point {
  Field x, y, z, t;
};

struct Curve {
  Field d = (small(0) - small(121665)) * inverse(small(121666));
  Field root_of_minus_one = power(small(2), 250, 0b011, 3);  // 2^((p - 1) / 4)
  Point base;
  Curve();
};

// The x that belongs to y, or none.
std::optional<Point> point_of(const Field& y, bool odd, const Curve& curve) {
  const Field square = y * y, u = square - small(1), v = curve.d * square + small(1);
  // x = u v^3 (u v^7)^((p - 5) / 8), or that times the root of -1 (RFC 8032, 5.1.3). (p - 5) / 8 = 2^252 - 3.
  const Field v3 = v * v * v;
  Field x = u * v3 * power(u * v3 * v3 * v, 250, 0b01, 2);
  if (!(v * x * x == u)) x = x * curve.root_of_minus_one;
  if (!(v * x * x == u)) return std::nullopt;
  if (x == small(0) && odd) return std::nullopt;
  if (is_odd(x) != odd) x = small(0) - x;
  return Point{x, y, small(1), x * y};
}

Curve::Curve() { base = *point_of(small(4) * inverse(small(5)), false, *this); }

const Curve& curve() {
  static const Curve it;
  return it;
}

Point operator+(const Point& p, const Point& q) {
  const Field a = (p.y - p.x) * (q.y - q.x), b = (p.y + p.x) * (q.y + q.x);
  const Field c = small(2) * curve().d * p.t * q.t, d = small(2) * p.z * q.z;
  const Field e = b - a, f = d - c, g = d + c, h = b + a;
  return {e * f, g * h, f * g, e * h};
}

// Both sums are made for every bit, so that time says nothing about a secret one.
Point times(const KeyBytes& scalar, const Point& point) {
  Point out{small(0), small(1), small(1), small(0)};
  for (int bit = 255; bit >= 0; --bit) {
    out = out + out;
    const Point more = out + point;
    const uint64_t take = 0 - uint64_t{scalar[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1u};
    for (Field Point::*part : {&Point::x, &Point::y, &Point::z, &Point::t})
      for (size_t i = 0; i < 5; ++i)
        (out.*part).digit[i] ^= take & ((out.*part).digit[i] ^ (more.*part).digit[i]);
  }
  return out;
}

KeyBytes encoded(const Point& point) {
  const Field scale = inverse(point.z), x = point.x * scale;
  KeyBytes out = bytes_of(point.y * scale);
  out[31] |= static_cast<uint8_t>(is_odd(x) << 7);
  return out;
}

std::optional<Point> decoded(KeyBytes bytes) {
  const bool odd = bytes[31] >> 7;
  bytes[31] &= 0x7f;
  const Field y = field_of(bytes);
  if (bytes_of(y) != bytes) return std::nullopt;  // not below p
  return point_of(y, odd, curve());
}

// Scalars are modulo the base point's order, 2^252 + 27742317777372353535851937790883648493.
using Scalar = std::array<uint64_t, 4>;
constexpr Scalar order = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};

bool below(const Scalar& a, const Scalar& b) {
  for (size_t i = 4; i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}

// Bit by bit: a few microseconds, and nothing to get wrong.
Scalar reduced(const std::array<uint64_t, 8>& wide) {
  Scalar out{};
  for (size_t bit = 512; bit-- > 0;) {
    for (size_t i = 4; i-- > 0;) out[i] = out[i] << 1 | (i > 0 ? out[i - 1] >> 63 : 0);
    out[0] |= wide[bit / 64] >> (bit % 64) & 1;
    const uint64_t take = 0 - uint64_t{!below(out, order)};
    uint64_t borrow = 0;
    for (size_t i = 0; i < 4; ++i) {
      const Wide rest = Wide{out[i]} - (order[i] & take) - borrow;
      out[i] = static_cast<uint64_t>(rest);
      borrow = static_cast<uint64_t>(rest >> 64) & 1;
    }
  }
  return out;
}

template <size_t bytes>
std::array<uint64_t, bytes / 8> words_of(const std::array<uint8_t, bytes>& from) {
  std::array<uint64_t, bytes / 8> out{};
  for (size_t i = 0; i < bytes; ++i) out[i / 8] |= uint64_t{from[i]} << (8 * (i % 8));
  return out;
}

KeyBytes bytes_of(const Scalar& scalar) {
  KeyBytes out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(scalar[i / 8] >> (8 * (i % 8)));
  return out;
}

Scalar hash_scalar(std::string_view text) { return reduced(words_of(sha512(text))); }

// a b + c
Scalar multiply_add(const Scalar& a, const Scalar& b, const Scalar& c) {
  std::array<uint64_t, 8> wide{};
  for (size_t i = 0; i < 4; ++i) wide[i] = c[i];
  for (size_t i = 0; i < 4; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < 4; ++j) {
      const Wide sum = Wide{a[i]} * b[j] + wide[i + j] + carry;
      wide[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    for (size_t k = i + 4; carry && k < 8; ++k) {
      const Wide sum = Wide{wide[k]} + carry;
      wide[k] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
  }
  return reduced(wide);
}

struct Secret {
  KeyBytes scalar{}, prefix{};
};

std::string text_of(const KeyBytes& bytes) { return {bytes.begin(), bytes.end()}; }

Secret secret_of(const KeyBytes& seed) {
  const std::array<uint8_t, 64> hash = sha512(text_of(seed));
  Secret out;
  std::copy_n(hash.begin(), 32, out.scalar.begin());
  std::copy_n(hash.begin() + 32, 32, out.prefix.begin());
  out.scalar[0] &= 248;
  out.scalar[31] = static_cast<uint8_t>((out.scalar[31] & 127) | 64);
  return out;
}

template <class Bytes>
std::string hex_text(const Bytes& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : bytes) out += {digits[byte >> 4], digits[byte & 15]};
  return out;
}

template <class Bytes>
std::optional<Bytes> parse_hex(std::string_view hex) {
  Bytes out{};
  if (hex.size() != 2 * out.size()) return std::nullopt;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | digit);
  }
  return out;
}

}  // namespace

KeyBytes public_key_of(const KeyBytes& seed) { return encoded(times(secret_of(seed).scalar, curve().base)); }

SignatureBytes sign(std::string_view message, const KeyBytes& seed) {
  const Secret secret = secret_of(seed);
  const KeyBytes key = encoded(times(secret.scalar, curve().base));
  const Scalar nonce = hash_scalar(text_of(secret.prefix).append(message));
  const KeyBytes commitment = encoded(times(bytes_of(nonce), curve().base));
  const Scalar challenge = hash_scalar((text_of(commitment) + text_of(key)).append(message));
  const KeyBytes answer = bytes_of(multiply_add(challenge, words_of(secret.scalar), nonce));
  SignatureBytes out{};
  std::ranges::copy(commitment, out.begin());
  std::ranges::copy(answer, out.begin() + 32);
  return out;
}

bool is_signed_by(std::string_view message, const SignatureBytes& signature, const KeyBytes& public_key) {
  KeyBytes commitment{}, answer{};
  std::copy_n(signature.begin(), 32, commitment.begin());
  std::copy_n(signature.begin() + 32, 32, answer.begin());
  if (!below(words_of(answer), order)) return false;
  std::optional<Point> key = decoded(public_key);
  if (!key) return false;
  const Scalar challenge = hash_scalar((text_of(commitment) + text_of(public_key)).append(message));
  const Point minus{small(0) - key->x, key->y, key->z, small(0) - key->t};
  return encoded(times(answer, curve().base) + times(bytes_of(challenge), minus)) == commitment;
}

std::string hex_of(const KeyBytes& key) { return hex_text(key); }
std::string hex_of(const SignatureBytes& signature) { return hex_text(signature); }
std::optional<KeyBytes> parse_key(std::string_view hex) { return parse_hex<KeyBytes>(hex); }
std::optional<SignatureBytes> parse_signature(std::string_view hex) { return parse_hex<SignatureBytes>(hex); }

}  // namespace stitch
