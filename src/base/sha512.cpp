#include "base/sha512.h"

#include <bit>
#include <string>
#include <vector>

namespace stitch {

namespace {

// Little-endian 32-bit digits, no longer than they have to be.
using Digits = std::vector<uint32_t>;

Digits product(const Digits& a, const Digits& b) {
  Digits out(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      carry += uint64_t{a[i]} * b[j] + out[i + j];
      out[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    out[i + b.size()] = static_cast<uint32_t>(carry);
  }
  return out;
}

bool at_most(Digits a, Digits b) {
  a.resize(std::max(a.size(), b.size()));
  b.resize(a.size());
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i];
  return true;
}

// The first 64 bits of the fractional part of the root of `prime`: FIPS 180-4 defines its constants so.
uint64_t fraction_of_root(uint32_t prime, int degree) {
  Digits bound(static_cast<size_t>(2 * degree));  // prime * 2^(64 * degree)
  bound.push_back(prime);
  Digits root(3);
  for (int bit = 70; bit >= 0; --bit) {
    Digits tried = root;
    tried[static_cast<size_t>(bit / 32)] |= uint32_t{1} << (bit % 32);
    Digits power = tried;
    for (int i = 1; i < degree; ++i) power = product(power, tried);
    if (at_most(power, bound)) root = tried;
  }
  return uint64_t{root[1]} << 32 | root[0];
}

struct Constants {
  std::array<uint64_t, 8> start{};
  std::array<uint64_t, 80> rounds{};

  Constants() {
    size_t count = 0;
    for (uint32_t candidate = 2; count < rounds.size(); ++candidate) {
      bool prime = true;
      for (uint32_t divisor = 2; divisor * divisor <= candidate; ++divisor)
        prime = prime && candidate % divisor != 0;
      if (!prime) continue;
      if (count < start.size()) start[count] = fraction_of_root(candidate, 2);
      rounds[count++] = fraction_of_root(candidate, 3);
    }
  }
};

void add_block(const uint8_t* bytes, const Constants& constants, std::array<uint64_t, 8>& state) {
  std::array<uint64_t, 80> w{};
  for (size_t i = 0; i < 128; ++i) w[i / 8] = w[i / 8] << 8 | bytes[i];
  for (size_t i = 16; i < 80; ++i) {
    const uint64_t early = std::rotr(w[i - 15], 1) ^ std::rotr(w[i - 15], 8) ^ (w[i - 15] >> 7);
    const uint64_t late = std::rotr(w[i - 2], 19) ^ std::rotr(w[i - 2], 61) ^ (w[i - 2] >> 6);
    w[i] = w[i - 16] + early + w[i - 7] + late;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 80; ++i) {
    const uint64_t first = h + (std::rotr(e, 14) ^ std::rotr(e, 18) ^ std::rotr(e, 41)) +
                           ((e & f) ^ (~e & g)) + constants.rounds[i] + w[i];
    const uint64_t second =
        (std::rotr(a, 28) ^ std::rotr(a, 34) ^ std::rotr(a, 39)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const std::array<uint64_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += sum[i];
}

}  // namespace

std::array<uint8_t, 64> sha512(std::string_view bytes) {
  static const Constants constants;
  std::string padded(bytes);
  padded += '\x80';
  padded.resize((padded.size() + 16 + 127) / 128 * 128);
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < 8; ++i) padded[padded.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
  std::array<uint64_t, 8> state = constants.start;
  for (size_t at = 0; at < padded.size(); at += 128)
    add_block(reinterpret_cast<const uint8_t*>(padded.data()) + at, constants, state);
  std::array<uint8_t, 64> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(state[i / 8] >> (56 - 8 * (i % 8)));
  return out;
}

}  // namespace stitch
