// For kernels that exchange states through L2: values that are their own ready flags (memory is filled with a
// NaN that no computation produces), and barriers between some warps of a block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace stitch {
// All bits set: a NaN that GPU arithmetic never produces.
constexpr uint32_t unpublished = 0xffffffffu;

__device__ __forceinline__ void wait_at(int barrier, int threads) {
#if STITCH_EMULATED
  stitch_named_barrier_sync(barrier, threads);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}
__device__ __forceinline__ void arrive_at(int barrier, int threads) {
#if STITCH_EMULATED
  stitch_named_barrier_arrive(barrier, threads);
#else
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

__device__ __forceinline__ bool is_missing(const uint4& value) {
  return value.x == unpublished || value.y == unpublished || value.z == unpublished || value.w == unpublished;
}
// Reads again where a word was missing. Each word is its own flag, so no ordering is needed; branch-free, so
// that a lane's reads are all in flight.
__device__ __forceinline__ void read_exchange(const uint4* at, bool wanted, uint4& value) {
#if STITCH_EMULATED
  const volatile uint32_t* words = reinterpret_cast<const volatile uint32_t*>(at);
  if (wanted) value = {words[0], words[1], words[2], words[3]};
#else
  asm volatile(
      "{\n  .reg .pred wanted;\n  setp.ne.u32 wanted, %5, 0;\n"
      "  @wanted ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
      : "l"(at), "r"(static_cast<uint32_t>(wanted)));
#endif
}

__device__ __forceinline__ void publish_16_bytes(uint4* at, const uint4& value) {
#if STITCH_EMULATED
  volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(at);
  words[0] = value.x, words[1] = value.y, words[2] = value.z, words[3] = value.w;
#else
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
#endif
}

}  // namespace stitch
