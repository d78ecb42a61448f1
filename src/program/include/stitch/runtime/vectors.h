// Loads and stores of several elements at once: a Pack<float, 4> moves 16 bytes in one instruction.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace stitch {
template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];
  __host__ __device__ T& operator[](int i) { return values[i]; }
  __host__ __device__ const T& operator[](int i) const { return values[i]; }
};

// A GPU faults on a pack that isn't aligned; a CPU, which stands in for one in tests, wouldn't notice.
template <class P>
__device__ __forceinline__ void expect_aligned([[maybe_unused]] const void* address) {
#ifdef STITCH_EMULATED
  if (reinterpret_cast<uintptr_t>(address) % alignof(P)) __trap();
#endif
}

// The pack at `index`, counted in packs.
template <int width, class T>
__device__ __forceinline__ Pack<T, width> load(const T* from, int64_t index) {
  expect_aligned<Pack<T, width>>(from);
  return reinterpret_cast<const Pack<T, width>*>(from)[index];
}
template <int width, class T>
__device__ __forceinline__ void store(T* to, int64_t index, const Pack<T, width>& pack) {
  expect_aligned<Pack<T, width>>(to);
  reinterpret_cast<Pack<T, width>*>(to)[index] = pack;
}

}  // namespace stitch
