// Columns shared by the blocks of a cluster: each block holds a part of every column in registers, and
// partial results are exchanged through distributed shared memory. One read and one write for columns too
// large for one block, without flags in device memory. Combined in a fixed order.
#pragma once

#include "stitch/loops/reduce.h"
#include "stitch/runtime/launch.h"

namespace stitch {
#if STITCH_EMULATED
// Emulated clusters run one after the other, each block on its own thread: the blocks' memory.
inline void* cluster_memory[16];
__device__ inline int block_of_cluster() { return static_cast<int>(stitch_emulated::block_of_cluster()); }
__device__ inline void arrive_at_cluster() {}
__device__ inline void wait_for_cluster() { stitch_emulated::cluster_barrier(__LINE__); }
#else
__device__ __forceinline__ int block_of_cluster() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#endif

// Writes `value` to the location of `to` in another block's shared memory.
template <class T>
__device__ __forceinline__ void store_in_cluster(T* to, int block, const T& value) {
#if STITCH_EMULATED
  // `to` is relative to the registered memory of its block.
  *reinterpret_cast<T*>(
      static_cast<char*>(cluster_memory[block]) +
      (reinterpret_cast<char*>(to) - static_cast<char*>(cluster_memory[block_of_cluster()]))) = value;
#else
  constexpr int words = sizeof(T) / 4;
  static_assert(sizeof(T) % 4 == 0, "whole words");
  uint32_t parts[words], remote;
  memcpy(parts, &value, sizeof(T));
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(remote)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "r"(block));
#pragma unroll
  for (int i = 0; i < words; ++i)
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote + 4 * i), "r"(parts[i]) : "memory");
#endif
}

// Thread t is in column t % columns; `depth` threads of each of `blocks` blocks share a column. Every thread
// gets the same bits. `turn`: the index of this reduction in the kernel; before the first, each thread
// arrives at the cluster barrier once, so that all blocks run when their memory is written.
template <int columns, int depth, int blocks, int turn, class T, class Combine>
__device__ __forceinline__ T reduce_cluster(T value, Combine combine) {
  constexpr int threads = columns * depth, warps = threads / 32;
  static_assert(columns <= 32 && 32 % columns == 0 && threads % 32 == 0, "whole warps of columns");
  __shared__ T of_warp[warps * columns];
  __shared__ T of_block[blocks * columns];
  const int thread = static_cast<int>(threadIdx.x), column = thread % columns;
#pragma unroll
  for (int lane_mask = 16; lane_mask >= columns; lane_mask /= 2)
    value = combine(value, value_of_lane(value, lane_mask));
  if (thread % 32 < columns) of_warp[thread / 32 * columns + column] = value;
#if STITCH_EMULATED
  if (thread == 0) cluster_memory[block_of_cluster()] = of_block;
  wait_for_cluster();
#else
  if constexpr (turn == 0) wait_for_cluster();
  __syncthreads();
#endif
  for (int i = thread; i < columns * blocks; i += threads) {
    T all = of_warp[column];
#pragma unroll
    for (int warp = 1; warp < warps; ++warp) all = combine(all, of_warp[warp * columns + column]);
    store_in_cluster(of_block + block_of_cluster() * columns + column, i / columns, all);
  }
  arrive_at_cluster();
  wait_for_cluster();
  T all = of_block[column];
#pragma unroll
  for (int block = 1; block < blocks; ++block) all = combine(all, of_block[block * columns + column]);
  return all;
}

// Launches with clusters of `cluster` consecutive blocks.
template <class... Parameters, class... Arguments>
StitchStatus launch_cluster(const char* name, void (*kernel)(Parameters...), Geometry geometry, int cluster,
                            cudaStream_t stream, Arguments&&... arguments) {
  geometry.cluster = cluster;
  return launch(name, kernel, geometry, stream, std::forward<Arguments>(arguments)...);
}

}  // namespace stitch
