// Grouped products: rows ends[g - 1] to ends[g] of x times matrix g,
//   out (rows, columns) = x (rows, depth) · weight[group of the row] (depth, columns),
// as in a mixture of experts; rows after the last group are zeros. On tensor cores with FP32 sums: fp16 and
// bf16 directly, FP32 at its own accuracy by three products of TF32 parts,
//   x · w = x_high · w_high + x_high · w_low + x_low · w_high.
// The group sizes are known only on the device, so the grid has the maximum number of tiles, one per group
// more than all rows need; a block searches for its group, and surplus blocks exit.
//   struct Experts {
//     static constexpr int64_t rows = 2048, columns = 1024, depth = 768;
//     static constexpr int groups = 16;
//   };
#pragma once

#include <cstdint>
#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class T>
struct GroupedTile {
  static constexpr int rows = 64, columns = 64;  // of a block: four warps with 32 x 32 each
  static constexpr int threads = 128;
  static constexpr int each = 16 / sizeof(T);
  static constexpr int depth = 8 * each;  // 128 bytes of x per step
  static constexpr bool is_float = std::is_same_v<T, float>;
  // No bank conflicts within a warp.
  static constexpr int x_pitch = depth + each, weight_pitch = columns + 8;
  static constexpr int x_packs = rows * depth / each / threads,
                       weight_packs = depth * columns / each / threads;
};

struct GroupedRows {
  int group = -1;  // -1: none; Shape::groups: after the last group
  int64_t begin = 0, end = 0;
};

// The rows of tile `tile`: a warp scans 32 groups at a time.
template <class Shape, int tile_rows, class End>
__device__ __forceinline__ GroupedRows find_group(const End* __restrict__ ends, int tile) {
  constexpr unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  auto end_of = [&](int g) -> int {
    if (g < 0) return 0;
    if (g >= Shape::groups) return static_cast<int>(Shape::rows);
    const int64_t end = static_cast<int64_t>(ends[g]);
    return static_cast<int>(end < 0 ? 0 : end < Shape::rows ? end : Shape::rows);
  };
  for (int base = 0; base <= Shape::groups; base += 32) {
    const int g = base + lane, begin = end_of(g - 1), end = end_of(g);
    const int tiles = g <= Shape::groups && end > begin ? (end - begin + tile_rows - 1) / tile_rows : 0;
    int through = tiles;  // inclusive scan over the groups
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int before = __shfl_up_sync(all, through, step);
      if (lane >= step) through += before;
    }
    const unsigned reached = __ballot_sync(all, tile < through);
    if (reached) {
      const int owner = __ffs(static_cast<int>(reached)) - 1;
      const int first = __shfl_sync(all, begin, owner), last = __shfl_sync(all, end, owner);
      const int within = tile - __shfl_sync(all, through - tiles, owner);
      return {base + owner, first + static_cast<int64_t>(within) * tile_rows, last};
    }
    tile -= __shfl_sync(all, through, 31);
  }
  return {};
}

// Up to 16 bytes of a row, zeros past `count` elements.
template <bool vectors, class T>
__device__ __forceinline__ Pack<T, 16 / sizeof(T)> load_part(const T* __restrict__ from, int64_t count) {
  constexpr int each = 16 / sizeof(T);
  Pack<T, each> out;
  if constexpr (vectors) {
    if (count > 0) return *reinterpret_cast<const Pack<T, each>*>(from);
  }
#pragma unroll
  for (int e = 0; e < each; ++e) out[e] = !vectors && e < count ? from[e] : T(0.0f);
  return out;
}

// sums += products of the tiles in shared memory: a warp's 32 rows and 32 columns.
template <class T>
__device__ __forceinline__ void multiply_tiles(float (&sums)[2][4][4], const T* x, const T* weight) {
  using Tile = GroupedTile<T>;
  if constexpr (Tile::is_float) {
    const int lane = static_cast<int>(threadIdx.x % 32), group = lane / 4, pair = lane % 4;
    float parts[2][4][4] = {};  // tensor cores truncate: short sums, added on CUDA cores
#pragma unroll
    for (int k = 0; k < Tile::depth; k += 8) {
      MmaLeft high[2], low[2];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          const Tf32Pair number =
              split_tf32(x[(r * 16 + group + p % 2 * 8) * Tile::x_pitch + k + pair + p / 2 * 4]);
          high[r].parts[p] = number.high, low[r].parts[p] = number.low;
        }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        MmaRight right_high, right_low;
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const Tf32Pair number = split_tf32(weight[(k + pair + p * 4) * Tile::weight_pitch + c * 8 + group]);
          right_high.parts[p] = number.high, right_low.parts[p] = number.low;
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          mma_tf32(parts[r][c], high[r], right_low);
          mma_tf32(parts[r][c], low[r], right_high);
          mma_tf32(parts[r][c], high[r], right_high);
        }
      }
    }
    fold_sums(sums, parts);
  } else {
    const __half *left = reinterpret_cast<const __half*>(x), *right = reinterpret_cast<const __half*>(weight);
#pragma unroll
    for (int k = 0; k < Tile::depth; k += 16) {
      MmaRight operands[2][2];
#pragma unroll
      for (int c = 0; c < 2; ++c)
        load_right_from_columns(operands[c], right + k * Tile::weight_pitch + c * 16, Tile::weight_pitch);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const MmaLeft rows = load_left(left + r * 16 * Tile::x_pitch + k, Tile::x_pitch);
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if constexpr (std::is_same_v<T, __half>)
            mma(sums[r][c], rows, operands[c / 2][c % 2]);
          else
            mma_bfloat(sums[r][c], rows, operands[c / 2][c % 2]);
        }
      }
    }
  }
}

// `vectors`: 16 bytes of rows of x and of the matrices are aligned.
template <class Shape, bool vectors, class T, class End>
__global__ void __launch_bounds__(GroupedTile<T>::threads)
    grouped_product_kernel(const T* __restrict__ x, const T* __restrict__ weight,
                           const End* __restrict__ ends, T* __restrict__ out) {
  wait_for_previous_kernel();
  using Tile = GroupedTile<T>;
  __shared__ alignas(16) T x_tile[Tile::rows * Tile::x_pitch];
  __shared__ alignas(16) T weight_tile[Tile::depth * Tile::weight_pitch];
  const GroupedRows rows = find_group<Shape, Tile::rows>(ends, static_cast<int>(blockIdx.y));
  if (rows.group < 0) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * Tile::columns;
  const int row = warp / 2 * 32, column = warp % 2 * 32;
  float sums[2][4][4] = {};

  if (rows.group < Shape::groups) {
    const T* matrix = weight + rows.group * Shape::depth * Shape::columns;
    Pack<T, Tile::each> x_next[Tile::x_packs], weight_next[Tile::weight_packs];
    auto fetch = [&](int64_t k) {
#pragma unroll
      for (int i = 0; i < Tile::x_packs; ++i) {
        constexpr int packs = Tile::depth / Tile::each;
        const int pack = thread + i * Tile::threads, at = pack % packs * Tile::each;
        const int64_t r = rows.begin + pack / packs;
        x_next[i] =
            load_part<vectors>(x + r * Shape::depth + k + at, r < rows.end ? Shape::depth - k - at : 0);
      }
#pragma unroll
      for (int i = 0; i < Tile::weight_packs; ++i) {
        constexpr int packs = Tile::columns / Tile::each;
        const int pack = thread + i * Tile::threads, at = pack % packs * Tile::each;
        const int64_t deep = k + pack / packs, c = first_column + at;
        weight_next[i] = load_part<vectors>(matrix + deep * Shape::columns + c,
                                            deep < Shape::depth ? Shape::columns - c : 0);
      }
    };
    fetch(0);
#pragma unroll 1
    for (int64_t k = 0; k < Shape::depth; k += Tile::depth) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < Tile::x_packs; ++i) {
        constexpr int packs = Tile::depth / Tile::each;
        const int pack = thread + i * Tile::threads;
        *reinterpret_cast<Pack<T, Tile::each>*>(x_tile + pack / packs * Tile::x_pitch +
                                                pack % packs * Tile::each) = x_next[i];
      }
#pragma unroll
      for (int i = 0; i < Tile::weight_packs; ++i) {
        constexpr int packs = Tile::columns / Tile::each;
        const int pack = thread + i * Tile::threads;
        *reinterpret_cast<Pack<T, Tile::each>*>(weight_tile + pack / packs * Tile::weight_pitch +
                                                pack % packs * Tile::each) = weight_next[i];
      }
      __syncthreads();
      if (k + Tile::depth < Shape::depth) fetch(k + Tile::depth);
      multiply_tiles(sums, x_tile + row * Tile::x_pitch, weight_tile + column);
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t to = rows.begin + row + r * 16 + lane / 4 + i / 2 * 8;
        const int64_t at = first_column + column + c * 8 + lane % 4 * 2 + i % 2;
        if (to < rows.end && at < Shape::columns)
          out[to * Shape::columns + at] = static_cast<T>(sums[r][c][i]);
      }
}

template <class Shape, class T, class End>
StitchStatus enqueue_grouped_product(const char* name, const T* x, const T* weight, const End* ends, T* out,
                                     cudaStream_t stream) {
  using Tile = GroupedTile<T>;
  const Geometry geometry{{static_cast<unsigned>(divide_up(Shape::columns, Tile::columns)),
                           static_cast<unsigned>(divide_up(Shape::rows, Tile::rows) + Shape::groups + 1)},
                          Tile::threads};
  if constexpr (Shape::depth % Tile::each == 0 && Shape::columns % Tile::each == 0)
    if (is_aligned(x, 16) && is_aligned(weight, 16))
      return launch(name, grouped_product_kernel<Shape, true, T, End>, geometry, stream, x, weight, ends,
                    out);
  return launch(name, grouped_product_kernel<Shape, false, T, End>, geometry, stream, x, weight, ends, out);
}

}  // namespace stitch
