// FP32 products on tensor cores at FP32's accuracy, in one kernel: Out[batch, row, column] =
// epilogue(Σ_k Left[batch, row, k] · Right[batch, k, column]), what is multiplied in a struct as matmul.h has
// it. Every number is two of TF32, x = high + low, made where tensor cores take it (split_number):
//   left · right = high · low' + low · high' + high · high'
// Nothing is split in memory before, and any strides will do: tiles of both sides arrive in shared memory as
// they lie (cp.async, `stages` of them), and a warp makes 16 · row_tiles x 8 · column_tiles sums. Tensor
// cores cut their sums off instead of rounding them (split_half.h), so every 256 steps of depth are added up
// by themselves. Reads both sides once for every tile of the other, and writes the result once. Chosen where
// products are bound by these bytes: batches of small ones, and few columns.
//   struct Fc1Tiles {
//     static constexpr int warp_rows = 4, warp_columns = 1;  // warps of a block
//     static constexpr int row_tiles = 2, column_tiles = 6;  // of a warp, 16 rows and 8 columns each
//     static constexpr int depth_tile = 32, stages = 3;      // 8, 16 or 32
//     // Four neighbours lie side by side in memory, inside the depth or the other side; two of the result.
//     static constexpr bool left_quads = true, right_quads = true, out_pairs = true;
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One side's tile in shared memory, stored as memory has it: (side, depth) or (depth, side). Pitches leave no
// bank conflicts: lanes of a warp read 8 neighbours along the side and 4 along the depth.
template <int side_count, int depth_count, bool is_depth_inside>
struct OperandTile {
  static constexpr int side = side_count, depth = depth_count;
  static constexpr bool depth_inside = is_depth_inside;
  static constexpr int inner = depth_inside ? depth : side, outer = depth_inside ? side : depth;
  static constexpr int pitch = static_cast<int>(shared_memory::product_pitch(inner, depth_inside));
  static constexpr int elements = outer * pitch;
  static __device__ __forceinline__ int at(int of_side, int k) {
    return depth_inside ? of_side * pitch + k : k * pitch + of_side;
  }

  // `from_at(side, k)`: where an element lies. What isn't there is zeros.
  template <int threads, bool vectors, class Index, class At>
  static __device__ __forceinline__ void fetch(float* to, const float* __restrict__ from, Index side_there,
                                               Index depth_there, At from_at) {
    constexpr int piece = vectors ? 4 : 1, each = inner / piece, total = outer * each;
#pragma unroll(vectors ? 8 : 4)
    for (int i = static_cast<int>(threadIdx.x); i < total; i += threads) {
      const int out = i / each, in = i % each * piece;
      const int of_side = depth_inside ? out : in, k = depth_inside ? in : out;
      const bool there = of_side < side_there && k < depth_there;
      const float* source = there ? from + from_at(of_side, k) : from;
      if constexpr (vectors)
        copy_16_bytes(to + out * pitch + in, source, there);
      else
        copy_4_bytes(to + out * pitch + in, source, there);
    }
  }
};

template <class P, class T>
struct TensorCoreProduct {
  using Index = typename P::Index;
  static constexpr int threads = 32 * T::warp_rows * T::warp_columns;
  static constexpr int rows = 16 * T::row_tiles * T::warp_rows,
                       columns = 8 * T::column_tiles * T::warp_columns;
  using Left = OperandTile<rows, T::depth_tile, P::left_by_depth>;
  using Right = OperandTile<columns, T::depth_tile, P::right_by_depth>;
  static constexpr int stage = Left::elements + Right::elements;
  static constexpr size_t shared_bytes = sizeof(float) * T::stages * stage;
  static constexpr Index row_blocks = (P::rows + rows - 1) / rows,
                         column_blocks = (P::columns + columns - 1) / columns,
                         steps = (P::depth + T::depth_tile - 1) / T::depth_tile;
  static constexpr int64_t blocks = int64_t{P::batches} * row_blocks * column_blocks;
  static constexpr int folded_steps = 256 / T::depth_tile;  // whose sums are added up by themselves
  static constexpr bool folds = steps > folded_steps;
};

// Three instructions, where cvt.rna.tf32 is eight (sm_90): tensor cores drop what TF32 hasn't of the low
// part. NaN may leave the high part, and infinities the sum; the low one has NaN of both.
struct SplitNumber {
  uint32_t high, low;
};
__device__ __forceinline__ SplitNumber split_number(float x) {
  SplitNumber out;
  out.high = (__float_as_uint(x) + 0x1000u) & ~0x1fffu;
  out.low = __float_as_uint(x - __uint_as_float(out.high));
  return out;
}

// Of infinities and NaN, which pairs of TF32 mix up (inf - inf): one product after the other.
template <class P>
__device__ __noinline__ float plain_sum(const float* __restrict__ left, const float* __restrict__ right,
                                        typename P::Index batch, typename P::Index row,
                                        typename P::Index column) {
  float sum = 0.0f;
  for (typename P::Index k = 0; k < P::depth; ++k)
    sum = fmaf(left[P::left(batch, row, k)], right[P::right(batch, k, column)], sum);
  return sum;
}

// Sums of a warp's tiles over one tile of depth.
template <class P, class T>
__device__ __forceinline__ void multiply_tiles(float (&sums)[T::row_tiles][T::column_tiles][4],
                                               const float* left, const float* right, int warp_row,
                                               int warp_column) {
  using S = TensorCoreProduct<P, T>;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;
#pragma unroll 4
  for (int k = 0; k < T::depth_tile; k += 8) {
    MmaRight right_high[T::column_tiles], right_low[T::column_tiles];
#pragma unroll
    for (int n = 0; n < T::column_tiles; ++n)
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const SplitNumber number =
            split_number(right[S::Right::at(warp_column + n * 8 + group, k + pair + 4 * p)]);
        right_high[n].parts[p] = number.high;
        right_low[n].parts[p] = number.low;
      }
#pragma unroll
    for (int m = 0; m < T::row_tiles; ++m) {
      MmaLeft left_high, left_low;
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const SplitNumber number =
            split_number(left[S::Left::at(warp_row + m * 16 + p % 2 * 8 + group, k + pair + p / 2 * 4)]);
        left_high.parts[p] = number.high;
        left_low.parts[p] = number.low;
      }
#pragma unroll
      for (int n = 0; n < T::column_tiles; ++n) mma_tf32(sums[m][n], left_low, right_high[n]);
#pragma unroll
      for (int n = 0; n < T::column_tiles; ++n) mma_tf32(sums[m][n], left_high, right_low[n]);
#pragma unroll
      for (int n = 0; n < T::column_tiles; ++n) mma_tf32(sums[m][n], left_high, right_high[n]);
    }
  }
}

template <class P, class T, bool vectors, class Epilogue>
__global__ void __launch_bounds__(TensorCoreProduct<P, T>::threads)
    tensor_core_product(const float* __restrict__ left, const float* __restrict__ right,
                        float* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using S = TensorCoreProduct<P, T>;
  using Index = typename P::Index;
  extern __shared__ uint4 product_shared[];
  float* tiles = reinterpret_cast<float*>(product_shared);  // stages of left and right
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = lane / 4, pair = lane % 4,
            warp = thread / 32;
  const int warp_row = warp / T::warp_columns * T::row_tiles * 16,
            warp_column = warp % T::warp_columns * T::column_tiles * 8;
  const int64_t block = blockIdx.x;
  const Index column0 = static_cast<Index>(block % S::column_blocks) * S::columns,
              row0 = static_cast<Index>(block / S::column_blocks % S::row_blocks) * S::rows,
              batch = static_cast<Index>(block / S::column_blocks / S::row_blocks);
  auto fetch = [&](Index step, int stage) {
    float* to = tiles + stage * S::stage;
    const Index k0 = step * T::depth_tile;
    S::Left::template fetch<S::threads, vectors && T::left_quads>(
        to, left, P::rows - row0, P::depth - k0,
        [&](int row, int k) { return P::left(batch, row0 + row, k0 + k); });
    S::Right::template fetch<S::threads, vectors && T::right_quads>(
        to + S::Left::elements, right, P::columns - column0, P::depth - k0,
        [&](int column, int k) { return P::right(batch, k0 + k, column0 + column); });
  };
#pragma unroll
  for (int stage = 0; stage < T::stages - 1; ++stage) {
    if (stage < S::steps) fetch(stage, stage);
    close_copies();
  }
  float sums[T::row_tiles][T::column_tiles][4] = {};
  float totals[S::folds ? T::row_tiles : 1][S::folds ? T::column_tiles : 1][4] = {};
  int stage = 0;
  for (Index step = 0; step < S::steps; ++step) {
    if constexpr (T::stages == 1) {
      if (step > 0) __syncthreads();
      fetch(step, 0);
      close_copies();
      wait_for_copies<0>();
      __syncthreads();
    } else {
      wait_for_copies<T::stages - 2>();
      __syncthreads();  // this tile is there, and nobody reads the one before it any more
      if (step + T::stages - 1 < S::steps)
        fetch(step + T::stages - 1, stage == 0 ? T::stages - 1 : stage - 1);
      close_copies();
    }
    multiply_tiles<P, T>(sums, tiles + stage * S::stage, tiles + stage * S::stage + S::Left::elements,
                         warp_row, warp_column);
    stage = stage + 1 == T::stages ? 0 : stage + 1;
    if constexpr (S::folds) {
      if (step % S::folded_steps != S::folded_steps - 1) continue;
#pragma unroll
      for (int m = 0; m < T::row_tiles; ++m)
#pragma unroll
        for (int n = 0; n < T::column_tiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            totals[m][n][i] += sums[m][n][i];
            sums[m][n][i] = 0.0f;
          }
    }
  }

  auto each_pair = [&](auto finish) {
#pragma unroll
    for (int m = 0; m < T::row_tiles; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int n = 0; n < T::column_tiles; ++n) {
          const Index row = row0 + warp_row + m * 16 + h * 8 + group,
                      column = column0 + warp_column + n * 8 + 2 * pair;
          if (row < P::rows && column < P::columns) finish(m, n, h, row, column);
        }
  };
  // All that an epilogue reads is asked for before anything is stored: it may lie where the result does, for
  // all the compiler knows, and would wait for every store.
  each_pair([&](int m, int n, int h, Index row, Index column) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& sum = sums[m][n][2 * h + e];
      if constexpr (S::folds) sum += totals[m][n][2 * h + e];
      if (e == 0 || T::out_pairs || column + 1 < P::columns) {
        if (!isfinite(sum)) sum = plain_sum<P>(left, right, batch, row, column + e);
        sum = epilogue(sum, P::position(batch, row, column + e));
      }
    }
  });
  each_pair([&](int m, int n, int h, Index row, Index column) {
    const float first = sums[m][n][2 * h], second = sums[m][n][2 * h + 1];
    if constexpr (vectors && T::out_pairs) {
      *reinterpret_cast<Pack<float, 2>*>(out + P::out(batch, row, column)) = {{first, second}};
    } else {
      out[P::out(batch, row, column)] = first;
      if (column + 1 < P::columns) out[P::out(batch, row, column + 1)] = second;
    }
  });
}

template <class P, class T, class Epilogue>
StitchStatus enqueue_tensor_core_product(const char* name, const float* left, const float* right, float* out,
                                         Epilogue epilogue, cudaStream_t stream) {
  using S = TensorCoreProduct<P, T>;
  static_assert(S::blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  const Geometry geometry{static_cast<unsigned>(S::blocks), S::threads, S::shared_bytes};
  if constexpr (T::left_quads || T::right_quads || T::out_pairs)
    if (is_aligned(left, 16) && is_aligned(right, 16) && is_aligned(out, 8))
      return launch(name, tensor_core_product<P, T, true, Epilogue>, geometry, stream, left, right, out,
                    epilogue);
  return launch(name, tensor_core_product<P, T, false, Epilogue>, geometry, stream, left, right, out,
                epilogue);
}

}  // namespace stitch
