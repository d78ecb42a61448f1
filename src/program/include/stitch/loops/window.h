// Sliding windows over a strip of elements that a warp holds in registers: element i * 32 + lane is held[i]
// of that lane. Results of 1, 2, 4, ... taps are combined by shuffles: as many steps as the number of taps
// has bits, without shared memory.
#pragma once

#include "stitch/loops/reduce.h"

namespace stitch {
// The element `by` after element i * 32 + lane; undefined past the strip's end.
template <int by, int held_count, class T>
__device__ __forceinline__ T shifted(const T (&held)[held_count], int i) {
  constexpr int lanes = by % 32, registers = by / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  auto of = [&](int at) { return held[at < held_count ? at : held_count - 1]; };
  if constexpr (lanes == 0) {
    return of(i + registers);
  } else {
    // A lane supplies the element for the one `lanes` before it, which may be in the next register.
    const T given = lane < lanes ? of(i + registers + 1) : of(i + registers);
    return __shfl_sync(0xffffffffu, given, (lane + lanes) % 32);
  }
}

// held[i] becomes the result over `taps` elements, `dilation` apart, starting at that element.
template <int taps, int dilation, int done = 1, int held_count, class T, class Combine>
__device__ __forceinline__ void take_windows(T (&held)[held_count], Combine combine) {
  if constexpr (2 * done <= taps) {
    T odd[held_count];  // combines `done` more taps, if the number has that bit
    if constexpr (taps % (2 * done) >= done) {
#pragma unroll
      for (int i = 0; i < held_count; ++i) odd[i] = held[i];
    }
    // In place: only later elements are read.
#pragma unroll
    for (int i = 0; i < held_count; ++i) held[i] = combine(held[i], shifted<done * dilation>(held, i));
    take_windows<taps, dilation, 2 * done>(held, combine);
    // These are the last of the taps so far.
    if constexpr (taps % (2 * done) >= done) {
      constexpr int before = taps - taps % (2 * done);
#pragma unroll
      for (int i = 0; i < held_count; ++i) held[i] = combine(held[i], shifted<before * dilation>(odd, i));
    }
  }
}

}  // namespace stitch
