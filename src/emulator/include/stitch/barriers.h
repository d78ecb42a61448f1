// __syncthreads and its variants, fences, traps.
#pragma once

#include <ctime>

#include "stitch/core.h"

inline void __syncthreads(unsigned line = __builtin_LINE()) {
  stitch_emulated::block_barrier(stitch_emulated::Vote::none, 0, "__syncthreads", line);
}
inline int __syncthreads_count(int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::block_barrier(stitch_emulated::Vote::count, predicate, "__syncthreads_count", line);
}
inline int __syncthreads_and(int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::block_barrier(stitch_emulated::Vote::all, predicate, "__syncthreads_and", line);
}
inline int __syncthreads_or(int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::block_barrier(stitch_emulated::Vote::any, predicate, "__syncthreads_or", line);
}
// PTX's bar.sync and bar.arrive: `threads` of them, a multiple of 32, at barrier `id` (0 to 15).
inline void stitch_named_barrier_sync(unsigned id, unsigned threads, unsigned line = __builtin_LINE()) {
  stitch_emulated::named_barrier_sync(id, threads, line);
}
inline void stitch_named_barrier_arrive(unsigned id, unsigned threads, unsigned line = __builtin_LINE()) {
  stitch_emulated::named_barrier_arrive(id, threads, line);
}

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  stitch_emulated::count_spin();
}
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { stitch_emulated::yield_thread(); }
[[noreturn]] inline void __trap(unsigned line = __builtin_LINE()) { stitch_emulated::trap("__trap", line); }
inline void __brkpt() {}

inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}
inline unsigned long long __globaltimer() { return static_cast<unsigned long long>(clock64()); }
