// Sorts rows of (value, position) pairs by Batcher's bitonic network: in shared memory if a row fits,
// otherwise step by step in device memory. Ties are broken by position, so it is stable.
#pragma once

#include <climits>

#include "stitch/loops/math.h"
#include "stitch/runtime/launch.h"

namespace stitch {
template <class T>
struct SortItem {
  T value;
  int position;  // INT_MAX: padding, sorted last
};

// NaN is larger than everything.
template <bool descending>
struct SortsBefore {
  template <class T>
  __device__ __forceinline__ bool operator()(const SortItem<T>& a, const SortItem<T>& b) const {
    if (a.position == INT_MAX || b.position == INT_MAX) return a.position < b.position;
    const T &first = descending ? b.value : a.value, &second = descending ? a.value : b.value;
    bool first_nan = first != first, second_nan = second != second;
    if (!first_nan && (second_nan || first < second)) return true;
    if (!second_nan && (first_nan || second < first)) return false;
    return a.position < b.position;
  }
};

template <class Item, class Before>
__device__ __forceinline__ void sort_pair(Item* items, int i, int distance, int run, Before before) {
  int other = i ^ distance;
  if (other <= i) return;
  bool rising = (i & run) == 0;
  if (before(items[other], items[i]) == rising) {
    Item held = items[i];
    items[i] = items[other];
    items[other] = held;
  }
}

// `count` items in shared memory, a power of two. Every thread of the block must call it.
template <int threads, class Item, class Before>
__device__ __forceinline__ void sort_block(Item* items, int count, Before before) {
  for (int run = 2; run <= count; run *= 2)
    for (int distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count; i += threads)
        sort_pair(items, i, distance, run, before);
    }
  __syncthreads();
}

template <class Item, class Before>
__global__ void __launch_bounds__(256) sort_step(Item* items, int count, int distance, int run) {
  wait_for_previous_kernel();
  int i = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  if (i < count) sort_pair(items + static_cast<int64_t>(blockIdx.y) * count, i, distance, run, Before());
}

// `rows` rows of `count` items in device memory.
template <class Before, class Item>
StitchStatus sort_rows(Item* items, int rows, int count, cudaStream_t stream) {
  dim3 blocks(static_cast<unsigned>(divide_up(count, 256)), static_cast<unsigned>(rows));
  for (int run = 2; run <= count; run *= 2)
    for (int distance = run / 2; distance > 0; distance /= 2)
      STITCH_OK_OR_RETURN(
          launch("sort_step", sort_step<Item, Before>, {blocks, 256}, stream, items, count, distance, run));
  return STITCH_OK;
}

}  // namespace stitch
