// Softmax over each row of attention scores in memory, in place.
#pragma once

#include <cstdint>

#include "stitch/runtime/launch.h"

namespace stitch {
// Block-wide maximum and sum, returned to every thread. `scratch` has room for 32.
template <class Number>
__device__ __forceinline__ Number block_maximum(Number value, Number* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    Number other = __shfl_xor_sync(0xffffffffu, value, mask);
    if (!(other <= value)) value = other;  // NaN propagates
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp)
    if (!(scratch[warp] <= value)) value = scratch[warp];
  return value;
}
template <class Number>
__device__ __forceinline__ Number block_sum(Number value, Number* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value += scratch[warp];
  return value;
}

// `safe`: a fully masked row becomes zeros, as in PyTorch's attention, not NaN.
template <class Number, bool safe>
__global__ void __launch_bounds__(256) softmax_kernel(Number* __restrict__ scores, int64_t columns) {
  wait_for_previous_kernel();
  __shared__ Number scratch[32];
  Number* row = scores + static_cast<int64_t>(blockIdx.x) * columns;
  const Number lowest = -static_cast<Number>(INFINITY);
  Number most = lowest;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    if (!(row[i] <= most)) most = row[i];
  most = block_maximum(most, scratch);
  if (safe && most == lowest) {
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) row[i] = Number{};
    return;
  }
  Number sum{};
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i] = exp(row[i] - most);
  sum = block_sum(sum, scratch);
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) row[i] /= sum;
}
template <bool safe = false, class Number>
StitchStatus enqueue_softmax(Number* scores, int64_t rows, int64_t columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return STITCH_OK;
  unsigned threads = columns >= 256 ? 256 : static_cast<unsigned>((columns + 31) / 32 * 32);
  return launch(safe ? "safe_softmax" : "softmax", softmax_kernel<Number, safe>,
                {static_cast<unsigned>(rows), threads}, stream, scores, columns);
}
template <class Number>
StitchStatus enqueue_safe_softmax(Number* scores, int64_t rows, int64_t columns, cudaStream_t stream) {
  return enqueue_softmax<true>(scores, rows, columns, stream);
}

}  // namespace stitch
