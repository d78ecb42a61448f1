// The definition of random numbers, shared by the oracle and generated CUDA.
//
// Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): a pure function
// of a key and a counter, so that element i depends on nothing but the seed, the stream and i.
//   key     = { seed bits 0..31, seed bits 32..63 }
//   counter = { i bits 0..31, i bits 32..63, stream bits 0..31, stream bits 32..63 }
//   words w0 .. w3 = philox(counter, key)
//   A = w1 * 2^32 + w0,  B = w3 * 2^32 + w2                     two 64-bit numbers an element
//   uniform<bits>(X) = (X >> (64 - bits)) * 2^-bits             in [0, 1), exact in either float type
// where i is the element's row-major index and `stream` the node's attribute. bits is 53 for results of
// dtype f64 and 24 for every other float, so that a CUDA program in float sees the very same numbers.
//   uniform    a + (b - a) * uniform<bits>(A)
//   normal     a + b * sqrt(-2 ln(1 - uniform<bits>(A))) * cos(2 pi uniform<bits>(B))    (Box-Muller)
//   bernoulli  uniform<53>(A) < a, which is (A >> 11) < ceil(a * 2^53) in integers
//   integers   a + floor(uniform<53>(A) * (b - a)), in double
// integers and bernoulli always use 53 bits: their results are exact, whatever dtype holds them.
#pragma once

#include <array>
#include <cstdint>

namespace stitch::oracle {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t{0xD2511F53} * counter[0], second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Element i's A and B.
inline std::array<uint64_t, 2> random_bits(int64_t seed, int64_t stream, int64_t i) {
  auto low = [](int64_t value) { return static_cast<uint32_t>(value); };
  auto high = [](int64_t value) { return static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32); };
  PhiloxCounter w = philox({low(i), high(i), low(stream), high(stream)}, {low(seed), high(seed)});
  return {uint64_t{w[1]} << 32 | w[0], uint64_t{w[3]} << 32 | w[2]};
}

inline double uniform(uint64_t word, int bits) {
  return static_cast<double>(word >> (64 - bits)) / static_cast<double>(uint64_t{1} << bits);
}

}  // namespace stitch::oracle
