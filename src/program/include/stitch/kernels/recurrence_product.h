// The input's part of a layer's gates, for all steps: (rows, features) times (gates, hidden, features)ᵀ per
// direction, a unit's gates contiguous in the result. FP32 accuracy on fp16 tensor cores; numbers are split
// in two between shared memory and registers (split_pair.h). The scales are known before, since states
// are bounded and weights are scanned once. Rows and weights are read once per 128 of the other; features are
// a multiple of four.
#pragma once

#include "stitch/kernels/recurrence.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// The largest magnitude of each of `count` arrays, as bits; zeroed before.
template <int count>
struct Arrays {
  const float* from[count];
  int64_t elements[count];
};
template <int count>
__global__ void __launch_bounds__(256)
    largest_magnitudes(const __grid_constant__ Arrays<count> a, unsigned* __restrict__ largest) {
  wait_for_previous_kernel();
  const float* from = a.from[blockIdx.y];
  unsigned most = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; i < a.elements[blockIdx.y];
       i += static_cast<int64_t>(gridDim.x) * 256)
    most = max(most, __float_as_uint(fabsf(from[i])));
  most = __reduce_max_sync(0xffffffffu, most);
  if (threadIdx.x % 32 == 0) atomicMax(largest + blockIdx.y, most);
}

namespace gates_product {
constexpr int rows = 128, columns = 128, depth = 16, stages = 4, threads = 128;
constexpr int row_tiles = 4, column_tiles = 8;  // of a warp, 2 x 2 of them
constexpr int stage = (rows + columns) * depth, shared_bytes = stages * stage * 4;

// Four adjacent numbers along the depth, as two parts each.
struct SplitFour {
  uint32_t large[2], small[2];
};
__device__ __forceinline__ SplitFour split_four(const float* from, float scale) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  SplitFour out;
  const float values[4] = {four.x * scale, four.y * scale, four.z * scale, four.w * scale};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const HalfPairs two = split_halves(values[2 * i], values[2 * i + 1]);
    out.large[i] = two.high, out.small[i] = two.low;
  }
  return out;
}
}  // namespace gates_product

template <int directions>
struct GatesProduct {
  const float* from;                 // (rows, features)
  const float* weights[directions];  // (gates, hidden, features)
  float* to[directions];             // (rows, hidden, gates)
  const unsigned* largest_weight;    // per direction
  const unsigned* largest_state;     // null: 1; otherwise at least 1
};

template <int hidden, int gates, int features, int directions>
__global__ void __launch_bounds__(gates_product::threads, 2)
    gates_product_kernel(const __grid_constant__ GatesProduct<directions> a, int row_count) {
  wait_for_previous_kernel();
  using namespace gates_product;
  constexpr int column_count = hidden * gates, steps = (features + depth - 1) / depth;
  extern __shared__ uint4 gates_shared[];
  float* tiles = reinterpret_cast<float*>(gates_shared);  // (stages, rows + columns, depth)
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = lane / 4, pair = lane % 4,
            warp = thread / 32;
  const int row0 = static_cast<int>(blockIdx.x) * rows, column0 = static_cast<int>(blockIdx.y) * columns,
            direction = static_cast<int>(blockIdx.z);
  const int warp_row = warp / 2 * row_tiles * 16, warp_column = warp % 2 * column_tiles * 8;
  const float* weights = a.weights[direction];
  auto fetch = [&](int step) {
    if (step < steps) {
      float* to = tiles + step % stages * stage;
#pragma unroll
      for (int i = 0; i < (rows + columns) * 4 / threads; ++i) {
        const int piece = thread + i * threads, side = piece / 4, k = step * depth + piece % 4 * 4;
        const bool left = side < rows;
        const int at = left ? row0 + side : column0 + side - rows;
        const bool valid = at < (left ? row_count : column_count) && k < features;
        const float* source =
            left ? a.from + static_cast<int64_t>(at) * features
                 : weights + (static_cast<int64_t>(at % gates) * hidden + at / gates) * features;
        copy_16_bytes(to + piece * 4, valid ? source + k : a.from, valid);
      }
    }
    close_copies();
  };
#pragma unroll
  for (int step = 0; step < stages - 1; ++step) fetch(step);
  const float left_scale = half_range_scale(a.largest_state ? max(*a.largest_state, __float_as_uint(1.0f))
                                                            : __float_as_uint(1.0f)),
              right_scale = half_range_scale(a.largest_weight[direction]);

  float sums[row_tiles][column_tiles][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // this tile has arrived, and the previous one is no longer read
    fetch(step + stages - 1);
    const float* left = tiles + step % stages * stage + pair * 4;
    const float* right = left + (rows + warp_column + group) * depth;
    left += (warp_row + group) * depth;
    MmaLeft large[row_tiles], small[row_tiles];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const SplitFour four = split_four(left + (m * 16 + r * 8) * depth, left_scale);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          large[m].parts[2 * i + r] = four.large[i];
          small[m].parts[2 * i + r] = four.small[i];
        }
      }
#pragma unroll
    for (int n = 0; n < column_tiles; ++n) {
      const SplitFour four = split_four(right + n * 8 * depth, right_scale);
      const MmaRight right_large{{four.large[0], four.large[1]}}, right_small{{four.small[0], four.small[1]}};
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) mma(sums[m][n], small[m], right_large);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) mma(sums[m][n], large[m], right_small);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) mma(sums[m][n], large[m], right_large);
    }
  }

  const float undo_left = 1.0f / left_scale, undo_right = 1.0f / right_scale;
  float* to = a.to[direction];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int n = 0; n < column_tiles; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = row0 + warp_row + m * 16 + h * 8 + group,
                  column = column0 + warp_column + n * 8 + 2 * pair;
        if (row >= row_count || column >= column_count) continue;
        float* at = to + static_cast<int64_t>(row) * column_count + column;
        const float first = sums[m][n][2 * h] * undo_left * undo_right,
                    second = sums[m][n][2 * h + 1] * undo_left * undo_right;
        if constexpr (column_count % 2 == 0) {
          *reinterpret_cast<float2*>(at) = {first, second};
        } else {
          at[0] = first;
          if (column + 1 < column_count) at[1] = second;
        }
      }
}

// Pointers are aligned to 16 bytes.
template <int hidden, int gates, int features, int directions>
StitchStatus enqueue_gates_product(const GatesProduct<directions>& product, int row_count,
                                   cudaStream_t stream) {
  static_assert(features % 4 == 0);
  using namespace gates_product;
  const dim3 grid(static_cast<unsigned>(divide_up(row_count, rows)),
                  static_cast<unsigned>(divide_up(hidden * gates, columns)), directions);
  return launch("gates_product", gates_product_kernel<hidden, gates, features, directions>,
                {grid, threads, shared_bytes}, stream, product, row_count);
}

}  // namespace stitch
