// Vectorised loads and stores: a Pack<float, 4> moves 16 bytes in one instruction.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace stitch {
// A GPU faults on a misaligned pack; this check makes emulated runs fail, too, also for out-of-range
// elements.
__host__ __device__ __forceinline__ void expect_on_cpu([[maybe_unused]] bool holds) {
#ifdef STITCH_EMULATED
  if (!holds) __trap();
#endif
}

template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];
  __host__ __device__ T& operator[](int i) {
    expect_on_cpu(i >= 0 && i < width);
    return values[i];
  }
  __host__ __device__ const T& operator[](int i) const {
    expect_on_cpu(i >= 0 && i < width);
    return values[i];
  }
};

// The pack at `index`, counted in packs.
template <int width, class T>
__device__ __forceinline__ Pack<T, width> load(const T* from, int64_t index) {
  expect_on_cpu(reinterpret_cast<uintptr_t>(from) % sizeof(Pack<T, width>) == 0);
  return reinterpret_cast<const Pack<T, width>*>(from)[index];
}
template <int width, class T>
__device__ __forceinline__ void store(T* to, int64_t index, const Pack<T, width>& pack) {
  expect_on_cpu(reinterpret_cast<uintptr_t>(to) % sizeof(Pack<T, width>) == 0);
  reinterpret_cast<Pack<T, width>*>(to)[index] = pack;
}

}  // namespace stitch
