// FP32 matrices for one product of fp16 and one of int8 instead of three of fp16 (split_half.h): every row of
// the left side and every column of the right one is brought to magnitudes of at most 127, y = x / scale, and
//   y = high + low,  high in fp16's eleven bits,  eight = y as int8,  low8 = 4096 low as int8
//   left · right = high · high' + (eight · low8' + low8 · eight') / 4096
// A left row's mean is taken off it before, and comes back times the sum of each right column: tensor cores
// cut sums off towards zero, which shows most where all terms have one sign. It is taken off in whole steps
// of the scale, so that zeros become whole numbers, of which int8 leaves nothing out. The small terms are one
// int8 product of twice the depth, [eight | low8] · [low8' ; eight'], whose sums are exact and at twice
// fp16's rate.
// What is left out: eight is off by 0.29 where a number isn't zero (root mean square), which meets lows of
// 2e-4 of the other side, and low8 by 0.29 / 4096, which meets all of it. Of a row's result that is
// 9e-5 sqrt(numbers that aren't zero) / |y|, so 6e-6 at most while its largest magnitude is up to nine times
// the root mean square of what isn't zero: 1e-6 where that is spread evenly, 3e-6 where it is normal,
// however many zeros there are (triangular matrices, behind a ReLU). Rows with larger ones, with infinities
// or NaN are marked by a negative scale and kept as they are, bit by bit in the same memory; their sums are
// made again in pairs of TF32 (split_int8_marked.h). Mostly there are none.
// 4 bytes read and 4 written an element, where depth lies inside; else 8 read.
#pragma once

#include <cuda_fp16.h>

#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/split_int8_marked.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One operand of P: its numbers in fp16, (batches, side, depth); as int8, (batches, side, 2, depth); the
// scales of its rows or columns, (batches, side); means of its rows, or sums of its columns. All of it stands
// behind each other in one piece of memory.
template <class P, bool is_left, bool depth_inside>
struct Int8Operand {
  using Index = typename P::Index;
  static constexpr bool left = is_left, by_depth = depth_inside;
  static constexpr int width = 8;
  static constexpr int64_t side = is_left ? P::rows : P::columns;
  static constexpr int64_t source_depth = P::depth;
  static constexpr int64_t depth = (source_depth + 15) / 16 * 16;  // filled up with zeros
  static constexpr int64_t rows = int64_t{P::batches} * side, count = rows * depth;
  static constexpr int packs = static_cast<int>(depth / width);  // of a row
  static constexpr int64_t elements = 2 * count + 4 * rows;      // of fp16, all in all

  static __host__ __device__ __forceinline__ int8_t* small(__half* split) {
    return reinterpret_cast<int8_t*>(split + count);
  }
  static __host__ __device__ __forceinline__ const int8_t* small(const __half* split) {
    return reinterpret_cast<const int8_t*>(split + count);
  }
  static __host__ __device__ __forceinline__ float* scales(__half* split) {
    return reinterpret_cast<float*>(split + 2 * count);
  }
  static __host__ __device__ __forceinline__ const float* scales(const __half* split) {
    return reinterpret_cast<const float*>(split + 2 * count);
  }

  // Means of a left side, sums of a right one.
  static __host__ __device__ __forceinline__ float* centres(__half* split) { return scales(split) + rows; }
  static __host__ __device__ __forceinline__ const float* centres(const __half* split) {
    return scales(split) + rows;
  }
  static __device__ __forceinline__ bool inside(int64_t k) {
    return source_depth == depth || k < source_depth;
  }

  static __device__ __forceinline__ Index source(int64_t row, Index k) {
    const Index batch = static_cast<Index>(row / side), at = static_cast<Index>(row % side);
    if constexpr (is_left)
      return P::left(batch, at, k);
    else
      return P::right(batch, k, at);
  }
  // Eight numbers of a row; zeros behind its end.
  template <bool quads>
  static __device__ __forceinline__ Pack<float, width> load_pack(const float* __restrict__ from, int64_t row,
                                                                 int pack) {
    Pack<float, width> values = {};
    const Index k0 = static_cast<Index>(pack) * width;
#pragma unroll
    for (int i = 0; i < width; i += quads ? 4 : 1) {
      if (k0 + i >= P::depth) continue;
      if constexpr (quads) {
        const Pack<float, 4> four = stitch::load<4>(from + source(row, k0 + i), 0);
#pragma unroll
        for (int j = 0; j < 4; ++j) values[i + j] = four[j];
      } else {
        values[i] = from[source(row, k0 + i)];
      }
    }
    return values;
  }
  // A marked row's numbers: two bytes where fp16 has them, a byte in each half of int8.
  static __device__ __forceinline__ void put_pack(__half* split, int64_t row, int pack,
                                                  const Pack<float, width>& values, float scale,
                                                  float centre) {
    Pack<__half, width> high;
    Pack<int8_t, width> eight, low8;
    const float inverse = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if (scale > 0.0f) {
        const float y =
            inside(static_cast<int64_t>(pack) * width + i) ? (values[i] - centre) * inverse : 0.0f;
        high[i] = __float2half_rn(y);
        const int low = __float2int_rn((y - __half2float(high[i])) * 4096.0f);
        eight[i] = static_cast<int8_t>(__float2int_rn(y));
        low8[i] = static_cast<int8_t>(min(max(low, -127), 127));
      } else {
        const uint32_t bits = __float_as_uint(values[i]);
        high[i] = __ushort_as_half(static_cast<unsigned short>(bits >> 16));
        eight[i] = static_cast<int8_t>(bits >> 8 & 255u);
        low8[i] = static_cast<int8_t>(bits & 255u);
      }
    }
    reinterpret_cast<Pack<__half, width>*>(split)[row * packs + pack] = high;
    auto* to = reinterpret_cast<Pack<int8_t, width>*>(small(split)) + row * (2 * packs) + pack;
    to[0] = is_left ? eight : low8;
    to[packs] = is_left ? low8 : eight;
  }
  // Four numbers of a row as they lie, and as they were, or nearly.
  struct Four {
    Pack<__half, 4> high;
    Pack<int8_t, 4> first, second;
  };
  static __device__ __forceinline__ Four four(const __half* __restrict__ split, int64_t row, int64_t k) {
    const int8_t* parts = small(split) + row * (2 * depth) + k;
    return {*reinterpret_cast<const Pack<__half, 4>*>(split + row * depth + k),
            *reinterpret_cast<const Pack<int8_t, 4>*>(parts),
            *reinterpret_cast<const Pack<int8_t, 4>*>(parts + depth)};
  }
  static __device__ __forceinline__ float centre(const __half* split, int64_t row) {
    return is_left ? centres(split)[row] : 0.0f;
  }
  static __device__ __forceinline__ Pack<float, 4> restored(const Four& four, float scale, float centre) {
    Pack<float, 4> values;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int8_t eight = is_left ? four.first[i] : four.second[i],
                   low8 = is_left ? four.second[i] : four.first[i];
      const uint32_t bits = static_cast<uint32_t>(__half_as_ushort(four.high[i])) << 16 |
                            static_cast<uint32_t>(static_cast<uint8_t>(eight)) << 8 |
                            static_cast<uint8_t>(low8);
      const float y = __half2float(four.high[i]) + static_cast<float>(low8) * (1.0f / 4096.0f);
      values[i] = scale > 0.0f ? fmaf(y, scale, centre) : __uint_as_float(bits);
    }
    return values;
  }
  static __device__ __forceinline__ Pack<float, 4> restored(const __half* __restrict__ split, int64_t row,
                                                            int64_t k) {
    return restored(four(split, row, k), scales(split)[row], centre(split, row));
  }
};

// What was seen of a row. Least and most leave NaN out; the sum has it.
struct RowSpread {
  float least, most, sum, squares;
  int nonzeros;

  static __device__ __forceinline__ RowSpread nothing() { return {INFINITY, -INFINITY, 0.0f, 0.0f, 0}; }
  __device__ __forceinline__ void see(float x) {
    least = fminf(least, x), most = fmaxf(most, x);
    sum += x, squares = fmaf(x, x, squares);
    nonzeros += x != 0.0f;
  }
  __device__ __forceinline__ void join(const RowSpread& other) {
    least = fminf(least, other.least), most = fmaxf(most, other.most);
    sum += other.sum, squares += other.squares;
    nonzeros += other.nonzeros;
  }
  __device__ __forceinline__ RowSpread of_lane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, least, mask), __shfl_xor_sync(0xffffffffu, most, mask),
            __shfl_xor_sync(0xffffffffu, sum, mask), __shfl_xor_sync(0xffffffffu, squares, mask),
            __shfl_xor_sync(0xffffffffu, nonzeros, mask)};
  }
  template <class S>
  __device__ __forceinline__ float mean() const {
    return S::left && isfinite(sum) ? sum / static_cast<float>(S::source_depth) : 0.0f;
  }
  // Of y = (x - centre) / scale; negative where int8 is too coarse.
  template <class S>
  __device__ __forceinline__ float scale() const {
    constexpr float ratio = 9.0f;                       // of the largest to the root mean square
    constexpr float steps = S::left ? 126.5f : 127.0f;  // the centre is up to half a step off the mean
    if (!isfinite(sum) || !isfinite(squares)) return -1.0f;
    const float middle = mean<S>(), largest = fmaxf(most - middle, middle - least);
    if (largest == 0.0f) return 1.0f;
    if (!(largest >= 0x1p-40f && largest <= 0x1p40f)) return -1.0f;
    const float around = squares - middle * sum;
    // Below, little but rounding is left of the difference, and of what int8 leaves out in the result.
    const bool fine = around < 1e-3f * squares ||
                      largest * largest * static_cast<float>(nonzeros) <= ratio * ratio * around;
    return fine ? largest / steps : -1.0f;
  }
  // What is taken off each number of a left row: its mean in whole steps.
  template <class S>
  __device__ __forceinline__ float centre(float scale) const {
    return scale > 0.0f ? rintf(mean<S>() / scale) * scale : 0.0f;
  }
};

// Rows with the depth inside, `team` threads each: a warp or a block.
template <class S, bool quads, int team>
__global__ void __launch_bounds__(256)
    split_rows_kernel(const float* __restrict__ from, __half* __restrict__ split) {
  wait_for_previous_kernel();
  constexpr int each = (S::packs + team - 1) / team;
  constexpr bool held = each <= 4;  // else read a second time, from L2
  const int member = static_cast<int>(threadIdx.x) % team;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (256 / team) + threadIdx.x / team;
  if (row >= S::rows) return;  // whole warps; a block has one row
  Pack<float, S::width> values[held ? each : 1];
  RowSpread spread = RowSpread::nothing();
#pragma unroll(held ? each : 2)
  for (int j = 0; j < each; ++j) {
    const int pack = member + j * team;
    Pack<float, S::width>& eight = values[held ? j : 0];
    if (pack < S::packs) {
      eight = S::template load_pack<quads>(from, row, pack);
#pragma unroll
      for (int i = 0; i < S::width; ++i)
        if (S::inside(static_cast<int64_t>(pack) * S::width + i)) spread.see(eight[i]);
    }
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) spread.join(spread.of_lane(mask));
  if constexpr (team > 32) {
    __shared__ RowSpread of_warps[team / 32];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = spread;
    __syncthreads();
    spread = RowSpread::nothing();
#pragma unroll
    for (int warp = 0; warp < team / 32; ++warp) spread.join(of_warps[warp]);
  }
  const float scale = spread.scale<S>(), centre = spread.centre<S>(scale);
  if (member == 0) {
    S::scales(split)[row] = scale;
    S::centres(split)[row] = S::left ? centre : spread.sum;
  }
#pragma unroll(held ? each : 2)
  for (int j = 0; j < each; ++j) {
    const int pack = member + j * team;
    if (pack >= S::packs) continue;
    if constexpr (!held) values[0] = S::template load_pack<quads>(from, row, pack);
    S::put_pack(split, row, pack, values[held ? j : 0], scale, centre);
  }
}

// Columns with their side inside: what was seen of each in every slice of the depth, then their scales, then
// tiles of 32 columns by 128 deep, transposed.
constexpr int column_tile = 32, column_depth = 128;
// As many slices as have room where the numbers of fp16 and int8 come afterwards.
template <class S>
constexpr int column_slices = S::depth >= 256 ? 32 : 16;

template <class S>
__global__ void __launch_bounds__(256)
    spread_columns_kernel(const float* __restrict__ from, RowSpread* __restrict__ spreads) {
  wait_for_previous_kernel();
  constexpr int64_t slice = (S::depth + column_slices<S> - 1) / column_slices<S>;
  using Index = typename S::Index;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (row >= S::rows) return;
  const int64_t begin = blockIdx.y * slice, end = min(begin + slice, S::source_depth);
  RowSpread spread = RowSpread::nothing();
#pragma unroll 8
  for (int64_t k = begin; k < end; ++k) spread.see(from[S::source(row, static_cast<Index>(k))]);
  spreads[blockIdx.y * S::rows + row] = spread;
}

template <class S>
__global__ void __launch_bounds__(256)
    scale_columns_kernel(const RowSpread* __restrict__ spreads, float* __restrict__ scales,
                         float* __restrict__ centres) {
  wait_for_previous_kernel();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (row >= S::rows) return;
  RowSpread spread = RowSpread::nothing();
#pragma unroll 8
  for (int slice = 0; slice < column_slices<S>; ++slice) spread.join(spreads[slice * S::rows + row]);
  const float scale = spread.scale<S>();
  scales[row] = scale;
  centres[row] = S::left ? spread.centre<S>(scale) : spread.sum;
}

template <class S>
__global__ void __launch_bounds__(256)
    split_columns_kernel(const float* __restrict__ from, __half* __restrict__ split) {
  wait_for_previous_kernel();
  using Index = typename S::Index;
  __shared__ float tile[column_tile][column_depth + 1];
  constexpr int deep = 256 / column_tile, packs = column_depth / S::width;
  const int lane = static_cast<int>(threadIdx.x) % column_tile,
            first = static_cast<int>(threadIdx.x) / column_tile;
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) * column_tile,
                k0 = static_cast<int64_t>(blockIdx.y) * column_depth;
#pragma unroll
  for (int j = 0; j < column_depth / deep; ++j) {
    const int64_t k = k0 + first + j * deep;
    tile[lane][first + j * deep] = row0 + lane < S::rows && k < S::source_depth
                                       ? from[S::source(row0 + lane, static_cast<Index>(k))]
                                       : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < column_tile * packs / 256; ++j) {
    const int at = static_cast<int>(threadIdx.x) + j * 256, column = at / packs, pack = at % packs;
    const int64_t row = row0 + column, to = k0 / S::width + pack;
    if (row >= S::rows || to >= S::packs) continue;
    const float scale = S::scales(split)[row], centre = S::left ? S::centres(split)[row] : 0.0f;
    Pack<float, S::width> values;
#pragma unroll
    for (int i = 0; i < S::width; ++i) values[i] = tile[column][pack * S::width + i];
    S::put_pack(split, row, static_cast<int>(to), values, scale, centre);
  }
}

// `quads`: every four neighbours of a row lie side by side in memory, at 16 bytes if `from` does.
template <class S, bool quads>
StitchStatus split_in_int8(const float* from, __half* split, cudaStream_t stream) {
  if constexpr (S::by_depth) {
    constexpr int team = S::packs > 128 ? 256 : 32;
    const Geometry geometry{static_cast<unsigned>(divide_up(S::rows, 256 / team)), 256};
    if (quads && reinterpret_cast<uintptr_t>(from) % 16 == 0)
      return launch("split_in_int8", split_rows_kernel<S, quads, team>, geometry, stream, from, split);
    return launch("split_in_int8", split_rows_kernel<S, false, team>, geometry, stream, from, split);
  } else {
    static_assert(column_slices<S> * sizeof(RowSpread) <= 2 * S::depth * sizeof(__half), "a deeper operand");
    // What was seen stands where the numbers of fp16 and int8 come afterwards.
    auto* spreads = reinterpret_cast<RowSpread*>(split);
    const auto rows = static_cast<unsigned>(divide_up(S::rows, 256)),
               tiles = static_cast<unsigned>(divide_up(S::rows, column_tile));
    STITCH_OK_OR_RETURN(launch("spread_of_columns", spread_columns_kernel<S>, {{rows, column_slices<S>}, 256},
                               stream, from, spreads));
    STITCH_OK_OR_RETURN(launch("scales_of_columns", scale_columns_kernel<S>, {rows, 256}, stream,
                               static_cast<const RowSpread*>(spreads), S::scales(split), S::centres(split)));
    return launch("split_in_int8", split_columns_kernel<S>,
                  {{tiles, static_cast<unsigned>(divide_up(S::depth, column_depth))}, 256}, stream, from,
                  split);
  }
}

// (high · high' + small / 4096) · both scales + the row's mean · the column's sum, then the epilogue; sums
// that were made again are as they are.
template <class P, int64_t pitch, int width, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_int8_kernel(const float* __restrict__ large, const int* __restrict__ small,
                       const float* __restrict__ row_scales, const float* __restrict__ column_scales,
                       const float* __restrict__ means, const float* __restrict__ totals,
                       typename P::Out* out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename P::Index;
  constexpr int64_t high = int64_t{P::batches} * P::rows, count = high * P::columns;
  using Flat = flat_index_t<high * pitch>;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x) * width;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide);
  const Index column = static_cast<Index>(element % Flat{P::columns}),
              row = static_cast<Index>(element / Flat{P::columns} % Flat{P::rows}),
              batch = static_cast<Index>(element / Flat{P::columns} / Flat{P::rows});
  const Flat at = element / Flat{P::columns} * Flat{pitch} + element % Flat{P::columns};
  const float of_row = row_scales[batch * P::rows + row], mean = means[batch * P::rows + row];
  const auto of_columns =
      *reinterpret_cast<const Pack<float, width>*>(column_scales + batch * P::columns + column);
  const auto column_totals =
      *reinterpret_cast<const Pack<float, width>*>(totals + batch * P::columns + column);
  const auto large_sums = *reinterpret_cast<const Pack<float, width>*>(large + at);
  const auto small_sums = *reinterpret_cast<const Pack<int, width>*>(small + at);
  Pack<typename P::Out, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    float sum = large_sums[i];
    if (of_row > 0.0f && of_columns[i] > 0.0f)
      sum = fmaf(mean, column_totals[i],
                 (sum + static_cast<float>(small_sums[i]) * (1.0f / 4096.0f)) * of_row * of_columns[i]);
    results[i] = static_cast<typename P::Out>(epilogue(sum, P::position(batch, row, column + i)));
  }
  *reinterpret_cast<Pack<typename P::Out, width>*>(out + P::out(batch, row, column)) = results;
}

// Makes marked sums again, and finishes all. `dense`: large sums, (batches, rows, pitch), and small ones
// behind them. `quads`: every four neighbours of a row lie side by side in `out`, at 16 bytes if it does.
template <class P, class L, class R, int64_t pitch, bool quads, class Epilogue>
StitchStatus finish_int8_product(const char* name, const __half* left, const __half* right, float* dense,
                                 typename P::Out* out, Epilogue epilogue, cudaStream_t stream) {
  constexpr int64_t sums = int64_t{P::batches} * P::rows * pitch,
                    count = int64_t{P::batches} * P::rows * P::columns;
  const float *row_scales = L::scales(left), *column_scales = R::scales(right), *large = dense;
  const float *means = L::centres(left), *totals = R::centres(right);
  const int* small = reinterpret_cast<const int*>(dense + sums);
  STITCH_OK_OR_RETURN(launch("marked_sums", marked_sums_kernel<P, L, R, pitch>,
                             {static_cast<unsigned>(P::batches * MarkedBlocks<P>::each), 256}, stream, left,
                             right, dense));
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(out) % 16 == 0)
      return launch(name, finish_int8_kernel<P, pitch, 4, Epilogue>, one_thread_each(count / 4), stream,
                    large, small, row_scales, column_scales, means, totals, out, epilogue);
  }
  return launch(name, finish_int8_kernel<P, pitch, 1, Epilogue>, one_thread_each(count), stream, large, small,
                row_scales, column_scales, means, totals, out, epilogue);
}

}  // namespace stitch
