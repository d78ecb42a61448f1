// Random numbers as the graph defines them: Philox 4x32-10 of the seed, the op's stream and the element's
// row-major index, so that every program draws the same ones.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace stitch {
struct RandomBits {
  uint64_t a, b;
};

__device__ __forceinline__ RandomBits random_bits(int64_t seed, int64_t stream, int64_t element) {
  uint32_t c0 = static_cast<uint32_t>(element),
           c1 = static_cast<uint32_t>(static_cast<uint64_t>(element) >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream),
           c3 = static_cast<uint32_t>(static_cast<uint64_t>(stream) >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t{0xD2511F53} * c0, second = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(second);
    c2 = static_cast<uint32_t>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(first);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {uint64_t{c1} << 32 | c0, uint64_t{c3} << 32 | c2};
}

// In [0, 1): 24 bits are exact in float, 53 in double.
__device__ __forceinline__ float uniform24(uint64_t word) {
  return static_cast<float>(word >> 40) * 0x1p-24f;
}
__device__ __forceinline__ double uniform53(uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

__device__ __forceinline__ float random_uniform(float low, float span, RandomBits bits) {
  return low + span * uniform24(bits.a);
}
__device__ __forceinline__ double random_uniform(double low, double span, RandomBits bits) {
  return low + span * uniform53(bits.a);
}
// Box-Muller. 1 - u is exact, and cospi avoids a rounded 2 pi.
__device__ __forceinline__ float random_normal(float mean, float deviation, RandomBits bits) {
  return mean + deviation * sqrtf(-2.0f * logf(1.0f - uniform24(bits.a))) * cospif(2.0f * uniform24(bits.b));
}
__device__ __forceinline__ double random_normal(double mean, double deviation, RandomBits bits) {
  return mean + deviation * sqrt(-2.0 * log(1.0 - uniform53(bits.a))) * cospi(2.0 * uniform53(bits.b));
}
__device__ __forceinline__ bool random_bernoulli(double probability, RandomBits bits) {
  return uniform53(bits.a) < probability;
}
__device__ __forceinline__ double random_integer(double low, double span, RandomBits bits) {
  return low + floor(uniform53(bits.a) * span);
}

}  // namespace stitch
