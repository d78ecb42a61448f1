// Groups the sources of a scatter by target row: a list per row in source order, so that summing in that
// order is deterministic. Counting and placing use atomics; where a list lies varies, its contents don't.
// Moves about 30 bytes per source and 12 per row.
#pragma once

#include "stitch/runtime/launch.h"

namespace stitch {
// targets (sources): the row of each source, -1: none. order: its index among the sources of that row.
template <int threads>
__global__ void __launch_bounds__(threads)
    count_sources(const int* __restrict__ targets, int* __restrict__ counts, int* __restrict__ order,
                  int sources) {
  wait_for_previous_kernel();
  const int source = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  if (source < sources && targets[source] >= 0) order[source] = atomicAdd(counts + targets[source], 1);
}

// counts (rows + 1): the last is the number of places in use.
template <int threads>
__global__ void __launch_bounds__(threads)
    place_lists(int* __restrict__ counts, int* __restrict__ starts, int rows) {
  wait_for_previous_kernel();
  const int row = static_cast<int>(blockIdx.x * threads + threadIdx.x),
            lane = static_cast<int>(threadIdx.x % 32), count = row < rows ? counts[row] : 0;
  int upto = count;  // inclusive scan over the warp's lists
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, upto, step);
    if (lane >= step) upto += before;
  }
  int first = 0;
  if (lane == 31 && upto > 0) first = atomicAdd(counts + rows, upto);
  first = __shfl_sync(0xffffffffu, first, 31);
  if (row < rows) starts[row] = first + upto - count;
}

template <int threads>
__global__ void __launch_bounds__(threads)
    place_sources(const int* __restrict__ targets, const int* __restrict__ starts,
                  const int* __restrict__ order, int* __restrict__ placed, int sources) {
  wait_for_previous_kernel();
  const int source = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  if (source < sources && targets[source] >= 0) placed[starts[targets[source]] + order[source]] = source;
}

// One warp per list: each source counts the sources before it. Long lists are rebuilt from all targets.
template <int threads>
__global__ void __launch_bounds__(threads)
    order_lists(const int* __restrict__ targets, const int* __restrict__ placed,
                const int* __restrict__ counts, const int* __restrict__ starts, int* __restrict__ order,
                int sources, int rows) {
  wait_for_previous_kernel();
  constexpr int long_list = 1024;
  const int row = static_cast<int>((blockIdx.x * threads + threadIdx.x) / 32),
            lane = static_cast<int>(threadIdx.x % 32);
  if (row >= rows) return;
  const int count = counts[row], start = starts[row];
  if (count <= 32) {
    const int mine = lane < count ? placed[start + lane] : sources;
    int rank = 0;
    for (int other = 0; other < count; ++other) rank += __shfl_sync(0xffffffffu, mine, other) < mine;
    if (lane < count) order[start + rank] = mine;
  } else if (count <= long_list) {
    for (int i = lane; i < count; i += 32) {
      const int mine = placed[start + i];
      int rank = 0;
      for (int other = 0; other < count; ++other) rank += placed[start + other] < mine;
      order[start + rank] = mine;
    }
  } else {
    constexpr int at_once = 8;  // loads in flight
    int found = 0;
    for (int first = lane; first - lane < sources && found < count; first += 32 * at_once) {
      int target[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) target[i] = first + 32 * i < sources ? targets[first + 32 * i] : -1;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const unsigned all = __ballot_sync(0xffffffffu, target[i] == row);
        if (target[i] == row) order[start + found + __popc(all & ((1u << lane) - 1))] = first + 32 * i;
        found += __popc(all);
      }
    }
  }
}

// Over the threads of a warp that share a list, 32 / parts lanes apart; all get the result.
template <int parts, class T>
__device__ __forceinline__ T sum_parts(T value) {
#pragma unroll
  for (int step = 16; step >= 32 / parts; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// Row r has counts[r] sources, from order[starts[r]] on.
inline StitchStatus group_sources(const int* targets, int* placed, int* counts, int* starts, int* order,
                                  int sources, int rows, cudaStream_t stream) {
  constexpr int threads = 256;
  STITCH_CUDA(cudaMemsetAsync(counts, 0, sizeof(int) * (static_cast<size_t>(rows) + 1), stream));
  STITCH_OK_OR_RETURN(launch("count_sources", count_sources<threads>, spread(sources, threads), stream,
                             targets, counts, order, sources));
  STITCH_OK_OR_RETURN(
      launch("place_lists", place_lists<threads>, spread(rows, threads), stream, counts, starts, rows));
  STITCH_OK_OR_RETURN(launch("place_sources", place_sources<threads>, spread(sources, threads), stream,
                             targets, starts, order, placed, sources));
  return launch("order_lists", order_lists<threads>, spread(int64_t{rows} * 32, threads), stream, targets,
                placed, counts, starts, order, sources, rows);
}

}  // namespace stitch
