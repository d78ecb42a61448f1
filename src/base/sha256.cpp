#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace stitch {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4), computed
// rather than typed.
std::array<uint32_t, 64> make_constants() {
  std::array<uint32_t, 64> out{};
  size_t count = 0;
  for (int candidate = 2; count < out.size(); ++candidate) {
    bool prime = true;
    for (int divisor = 2; divisor * divisor <= candidate; ++divisor)
      prime = prime && candidate % divisor != 0;
    if (!prime) continue;
    long double root = std::cbrt(static_cast<long double>(candidate));
    out[count++] = static_cast<uint32_t>((root - std::floor(root)) * 0x1p32L);
  }
  return out;
}

}  // namespace

void Sha256::block(const uint8_t* bytes) {
  static const std::array<uint32_t, 64> constants = make_constants();
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 |
           bytes[4 * i + 3];
  for (size_t i = 16; i < 64; ++i) {
    uint32_t early = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t late = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + early + w[i - 7] + late;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                     constants[i] + w[i];
    uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::add(std::string_view bytes) {
  length_ += bytes.size();
  while (!bytes.empty()) {
    size_t take = std::min(bytes.size(), pending_.size() - filled_);
    std::memcpy(pending_.data() + filled_, bytes.data(), take);
    filled_ += take;
    bytes.remove_prefix(take);
    if (filled_ < pending_.size()) return;
    block(pending_.data());
    filled_ = 0;
  }
}

void Sha256::add_field(std::string_view text) {
  add(std::to_string(text.size()) + ':');
  add(text);
}

std::string Sha256::hex() {
  uint64_t bits = length_ * 8;
  add(std::string_view("\x80", 1));
  while (filled_ != 56) add(std::string_view("\0", 1));
  std::array<char, 8> length{};
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  add({length.data(), length.size()});
  std::string out;
  for (uint32_t word : state_) out += format("{:08x}", word);
  return out;
}

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

Result<std::string> sha256_of_file(const fs::path& path) {
  STITCH_TRY(MappedFile file, MappedFile::open(path));
  return sha256({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

}  // namespace stitch
