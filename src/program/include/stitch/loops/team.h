// Rows held in the shared memory of several blocks (a team): one read and one write for rows too large for
// one block. Blocks are numbered in the order in which they start, so that all blocks of a team, which are
// consecutive, are running before one waits. Partial results are combined in a fixed order.
#pragma once

#include "stitch/loops/reduce.h"
#include "stitch/runtime/launch.h"

namespace stitch {
// This block's number in starting order; `tickets` must be 0 before the launch.
__device__ __forceinline__ int take_ticket(unsigned* tickets) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = atomicAdd(tickets, 1u);
  __syncthreads();
  return static_cast<int>(mine);
}

// Dynamic shared memory from `offset` on.
template <class T>
__device__ __forceinline__ T* shared_row(int64_t offset) {
  extern __shared__ __align__(16) unsigned char row_memory[];
  return reinterpret_cast<T*>(row_memory + offset);
}

// A value for another block. Data and ready flag are one 64-bit store, so no fence is needed between them.
// Zeroed before the launch.
template <class T>
struct Awaited {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  static constexpr int words = sizeof(T) / 4;
  unsigned long long word[words];

  __device__ __forceinline__ void write(const T& value) {
    uint32_t parts[words];
    memcpy(parts, &value, sizeof(T));
    volatile unsigned long long* to = word;
#pragma unroll
    for (int i = 0; i < words; ++i) to[i] = 1ull << 32 | parts[i];
  }
  __device__ __forceinline__ T wait() const {
    const volatile unsigned long long* from = word;
    uint32_t parts[words];
#pragma unroll
    for (int i = 0; i < words; ++i) {
      unsigned long long found;
      do found = from[i];
      while (found >> 32 == 0);
      parts[i] = static_cast<uint32_t>(found);
    }
    T value;
    memcpy(&value, parts, sizeof(T));
    return value;
  }
};

// Over all threads of the `team` blocks that share a row; `parts`: one per block. Every thread gets the same
// bits.
template <int threads, int team, class T, class Combine>
__device__ __forceinline__ T reduce_team(T value, Combine combine, T identity, int part, Awaited<T>* parts) {
  value = reduce_block<threads>(value, combine);
  __shared__ T of_team;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) parts[part].write(value);
    __syncwarp();
    T all = identity;
    for (int i = static_cast<int>(threadIdx.x); i < team; i += 32) all = combine(all, parts[i].wait());
    all = reduce_lanes<32>(all, combine);
    if (threadIdx.x == 0) of_team = all;
  }
  __syncthreads();
  return of_team;
}

// Blocks of a team wait for each other: the device must hold at least one team at once. On the emulated GPU
// all blocks are resident.
template <class... Parameters>
StitchStatus launch_team(const char* name, void (*kernel)(Parameters...), Geometry geometry, int team,
                         cudaStream_t stream, typename Same<Parameters>::type... arguments) {
#if STITCH_EMULATED
  (void)team;
  geometry.resident = true;
#else
  STITCH_OK_OR_RETURN(ask_for_shared(reinterpret_cast<const void*>(kernel), geometry.shared_bytes));
  int device = 0, multiprocessors = 0, blocks = 0;
  STITCH_CUDA(cudaGetDevice(&device));
  STITCH_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  STITCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, static_cast<int>(geometry.block.x), geometry.shared_bytes));
  if (blocks * multiprocessors < team)
    return fail(STITCH_UNSUPPORTED, "kernel %s: %d blocks wait for each other, and this GPU holds only %d",
                name, team, blocks * multiprocessors);
#endif
  return launch(name, kernel, geometry, stream, arguments...);
}

}  // namespace stitch
