// Asynchronous copies from global to shared memory (cp.async), complete after wait_for_copies: 16 or 4 bytes
// each, both sides aligned to that. Absent elements are zero-filled.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace stitch {
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from, bool valid) {
#if STITCH_EMULATED
  *static_cast<uint4*>(to) = valid ? *static_cast<const uint4*>(from) : uint4{};
#else
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid ? 16 : 0));
#endif
}
__device__ __forceinline__ void copy_4_bytes(void* to, const void* from, bool valid) {
#if STITCH_EMULATED
  *static_cast<uint32_t*>(to) = valid ? *static_cast<const uint32_t*>(from) : 0;
#else
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(valid ? 4 : 0));
#endif
}
// Commits a group of copies.
__device__ __forceinline__ void close_copies() {
#if !STITCH_EMULATED
  asm volatile("cp.async.commit_group;");
#endif
}
// Waits until at most `open` of the thread's latest groups are in flight; other threads' copies need a
// barrier.
template <int open>
__device__ __forceinline__ void wait_for_copies() {
#if !STITCH_EMULATED
  asm volatile("cp.async.wait_group %0;" ::"n"(open));
#endif
}

}  // namespace stitch
