// FP32 matrices for one fp16 product and one int8 product instead of three of fp16 (split_half.h): every row
// of the left side and every column of the right one is scaled to magnitudes of at most 127, y = x / scale,
//   y = high + low,  high in fp16's eleven bits,  eight = y as int8,  low8 = 4096 low as int8
//   left · right = high · high' + (eight · low8' + low8 · eight') / 4096
// A left row's mean is subtracted first and added back times the sum of each right column: tensor cores
// truncate sums towards zero, which matters most if all terms have one sign. It is subtracted in whole steps
// of the scale, so that zeros become integers, which int8 represents exactly. The low terms are one int8
// product of twice the depth, [eight | low8] · [low8' ; eight'], with exact sums and at twice fp16's rate.
// Error: eight is off by 0.29 (root mean square) for numbers that aren't zero, times lows of 2e-4 of the
// other side; low8 by 0.29 / 4096, times all of it. Relative to a row's result that is
// 9e-5 sqrt(non-zeros) / |y|, so 6e-6 at most while its largest magnitude is up to nine times the root mean
// square of its non-zeros: 1e-6 for uniform and 3e-6 for normal data, however many zeros there are
// (triangular matrices, after a ReLU). Rows with larger ones, infinities or NaN are marked by a negative
// scale and stored bit by bit in the same memory; their sums are recomputed in pairs of TF32
// (split_int8_marked.h). Usually there are none.
// 4 bytes read and 4 written per element if depth is contiguous; otherwise 8 read.
#pragma once

#include <cuda_fp16.h>

#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/split_int8_marked.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One operand of Product in one piece of memory: fp16, (batches, side, depth); int8, (batches, side, 2,
// depth); scales of its rows or columns, (batches, side); means of its rows, or sums of its columns.
template <class Product, bool is_left, bool depth_inside, int64_t sum_depth>
struct Int8Operand {
  using Index = typename Product::Index;
  static constexpr bool left = is_left, by_depth = depth_inside;
  static constexpr int width = 8;
  static constexpr int64_t source_depth = sum_depth;
  static constexpr int64_t depth = (source_depth + 15) / 16 * 16;  // zero-padded
  static constexpr int packs = static_cast<int>(depth / width);    // per row
  Product product;

  __host__ __device__ constexpr int64_t side() const { return is_left ? product.rows : product.columns; }
  __host__ __device__ constexpr int64_t rows() const { return int64_t{product.batches} * side(); }
  __host__ __device__ constexpr int64_t count() const { return rows() * depth; }

  __host__ __device__ __forceinline__ int8_t* small(__half* split) const {
    return reinterpret_cast<int8_t*>(split + count());
  }
  __host__ __device__ __forceinline__ const int8_t* small(const __half* split) const {
    return reinterpret_cast<const int8_t*>(split + count());
  }
  __host__ __device__ __forceinline__ float* scales(__half* split) const {
    return reinterpret_cast<float*>(split + 2 * count());
  }
  __host__ __device__ __forceinline__ const float* scales(const __half* split) const {
    return reinterpret_cast<const float*>(split + 2 * count());
  }

  // Means of a left side, sums of a right one.
  __host__ __device__ __forceinline__ float* centres(__half* split) const { return scales(split) + rows(); }
  __host__ __device__ __forceinline__ const float* centres(const __half* split) const {
    return scales(split) + rows();
  }
  static __device__ __forceinline__ bool inside(int64_t k) {
    return source_depth == depth || k < source_depth;
  }

  __device__ __forceinline__ Index source(int64_t row, Index k) const {
    const Index batch = static_cast<Index>(row / side()), at = static_cast<Index>(row % side());
    if constexpr (is_left)
      return product.left(batch, at, k);
    else
      return product.right(batch, k, at);
  }
  // Eight elements of a row; zeros past its end.
  template <bool quads>
  __device__ __forceinline__ Pack<float, width> load_pack(const float* __restrict__ from, int64_t row,
                                                          int pack) const {
    Pack<float, width> values = {};
    const Index k0 = static_cast<Index>(pack) * width;
#pragma unroll
    for (int i = 0; i < width; i += quads ? 4 : 1) {
      if (k0 + i >= source_depth) continue;
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
  // A marked row's FP32 numbers: two bytes in the fp16 part, one in each half of int8.
  __device__ __forceinline__ void put_pack(__half* split, int64_t row, int pack,
                                           const Pack<float, width>& values, float scale,
                                           float centre) const {
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
  // Four elements of a row as stored, and (nearly) as they were.
  struct Four {
    Pack<__half, 4> high;
    Pack<int8_t, 4> first, second;
  };
  __device__ __forceinline__ Four four(const __half* __restrict__ split, int64_t row, int64_t k) const {
    const int8_t* parts = small(split) + row * (2 * depth) + k;
    return {*reinterpret_cast<const Pack<__half, 4>*>(split + row * depth + k),
            *reinterpret_cast<const Pack<int8_t, 4>*>(parts),
            *reinterpret_cast<const Pack<int8_t, 4>*>(parts + depth)};
  }
  __device__ __forceinline__ float centre(const __half* split, int64_t row) const {
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
  __device__ __forceinline__ Pack<float, 4> restored(const __half* __restrict__ split, int64_t row,
                                                     int64_t k) const {
    return restored(four(split, row, k), scales(split)[row], centre(split, row));
  }
};

// Statistics of a row. Least and most exclude NaN; the sum has it.
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
  template <class Operand>
  __device__ __forceinline__ float mean() const {
    return Operand::left && isfinite(sum) ? sum / static_cast<float>(Operand::source_depth) : 0.0f;
  }
  // Scale of y = (x - centre) / scale; negative if int8 is too coarse.
  template <class Operand>
  __device__ __forceinline__ float scale() const {
    constexpr float ratio = 9.0f;  // of the largest magnitude to the root mean square
    constexpr float steps = Operand::left ? 126.5f : 127.0f;  // the centre is up to half a step off the mean
    if (!isfinite(sum) || !isfinite(squares)) return -1.0f;
    const float middle = mean<Operand>(), largest = fmaxf(most - middle, middle - least);
    if (largest == 0.0f) return 1.0f;
    if (!(largest >= 0x1p-40f && largest <= 0x1p40f)) return -1.0f;
    const float around = squares - middle * sum;
    // Below that, rounding dominates the difference, and what int8 drops in the result.
    const bool fine = around < 1e-3f * squares ||
                      largest * largest * static_cast<float>(nonzeros) <= ratio * ratio * around;
    return fine ? largest / steps : -1.0f;
  }
  // Subtracted from each number of a left row: its mean in whole steps.
  template <class Operand>
  __device__ __forceinline__ float centre(float scale) const {
    return scale > 0.0f ? rintf(mean<Operand>() / scale) * scale : 0.0f;
  }
};

// Rows with contiguous depth, `team` threads each: a warp or a block.
template <class Operand, bool quads, int team>
__global__ void __launch_bounds__(256)
    split_rows_kernel(const float* __restrict__ from, __half* __restrict__ split, Operand operand) {
  wait_for_previous_kernel();
  constexpr int each = (Operand::packs + team - 1) / team;
  constexpr bool held = each <= 4;  // otherwise read a second time, from L2
  const int member = static_cast<int>(threadIdx.x) % team;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (256 / team) + threadIdx.x / team;
  if (row >= operand.rows()) return;  // whole warps; a block has one row
  Pack<float, Operand::width> values[held ? each : 1];
  RowSpread spread = RowSpread::nothing();
#pragma unroll(held ? each : 2)
  for (int j = 0; j < each; ++j) {
    const int pack = member + j * team;
    Pack<float, Operand::width>& eight = values[held ? j : 0];
    if (pack < Operand::packs) {
      eight = operand.template load_pack<quads>(from, row, pack);
#pragma unroll
      for (int i = 0; i < Operand::width; ++i)
        if (Operand::inside(static_cast<int64_t>(pack) * Operand::width + i)) spread.see(eight[i]);
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
  const float scale = spread.scale<Operand>(), centre = spread.centre<Operand>(scale);
  if (member == 0) {
    operand.scales(split)[row] = scale;
    operand.centres(split)[row] = Operand::left ? centre : spread.sum;
  }
#pragma unroll(held ? each : 2)
  for (int j = 0; j < each; ++j) {
    const int pack = member + j * team;
    if (pack >= Operand::packs) continue;
    if constexpr (!held) values[0] = operand.template load_pack<quads>(from, row, pack);
    operand.put_pack(split, row, pack, values[held ? j : 0], scale, centre);
  }
}

// Columns with their side contiguous: statistics of each in every slice of the depth, then their scales, then
// tiles of 32 columns by 128 deep, transposed.
constexpr int column_tile = 32, column_depth = 128;
// As many slices as fit into the memory of the fp16 and int8 numbers, which are written later.
template <class Operand>
constexpr int column_slices = Operand::depth >= 256 ? 32 : 16;

template <class Operand>
__global__ void __launch_bounds__(256)
    spread_columns_kernel(const float* __restrict__ from, RowSpread* __restrict__ spreads, Operand operand) {
  wait_for_previous_kernel();
  constexpr int64_t slice = (Operand::depth + column_slices<Operand> - 1) / column_slices<Operand>;
  using Index = typename Operand::Index;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (row >= operand.rows()) return;
  const int64_t begin = blockIdx.y * slice, end = min(begin + slice, Operand::source_depth);
  RowSpread spread = RowSpread::nothing();
#pragma unroll 8
  for (int64_t k = begin; k < end; ++k) spread.see(from[operand.source(row, static_cast<Index>(k))]);
  spreads[blockIdx.y * operand.rows() + row] = spread;
}

template <class Operand>
__global__ void __launch_bounds__(256)
    scale_columns_kernel(const RowSpread* __restrict__ spreads, float* __restrict__ scales,
                         float* __restrict__ centres, Operand operand) {
  wait_for_previous_kernel();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (row >= operand.rows()) return;
  RowSpread spread = RowSpread::nothing();
#pragma unroll 8
  for (int slice = 0; slice < column_slices<Operand>; ++slice)
    spread.join(spreads[slice * operand.rows() + row]);
  const float scale = spread.scale<Operand>();
  scales[row] = scale;
  centres[row] = Operand::left ? spread.centre<Operand>(scale) : spread.sum;
}

template <class Operand>
__global__ void __launch_bounds__(256)
    split_columns_kernel(const float* __restrict__ from, __half* __restrict__ split, Operand operand) {
  wait_for_previous_kernel();
  using Index = typename Operand::Index;
  __shared__ float tile[column_tile][column_depth + 1];
  constexpr int deep = 256 / column_tile, packs = column_depth / Operand::width;
  const int lane = static_cast<int>(threadIdx.x) % column_tile,
            first = static_cast<int>(threadIdx.x) / column_tile;
  const int64_t row0 = static_cast<int64_t>(blockIdx.x) * column_tile,
                k0 = static_cast<int64_t>(blockIdx.y) * column_depth;
#pragma unroll
  for (int j = 0; j < column_depth / deep; ++j) {
    const int64_t k = k0 + first + j * deep;
    tile[lane][first + j * deep] = row0 + lane < operand.rows() && k < Operand::source_depth
                                       ? from[operand.source(row0 + lane, static_cast<Index>(k))]
                                       : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < column_tile * packs / 256; ++j) {
    const int at = static_cast<int>(threadIdx.x) + j * 256, column = at / packs, pack = at % packs;
    const int64_t row = row0 + column, to = k0 / Operand::width + pack;
    if (row >= operand.rows() || to >= Operand::packs) continue;
    const float scale = operand.scales(split)[row],
                centre = Operand::left ? operand.centres(split)[row] : 0.0f;
    Pack<float, Operand::width> values;
#pragma unroll
    for (int i = 0; i < Operand::width; ++i) values[i] = tile[column][pack * Operand::width + i];
    operand.put_pack(split, row, static_cast<int>(to), values, scale, centre);
  }
}

// `quads`: every four elements of a row are contiguous, 16-byte aligned if `from` is.
template <bool quads, class Operand>
StitchStatus split_in_int8(Operand operand, const float* from, __half* split, cudaStream_t stream) {
  if constexpr (Operand::by_depth) {
    constexpr int team = Operand::packs > 128 ? 256 : 32;
    const Geometry geometry{blocks_of(divide_up(operand.rows(), 256 / team)), 256};
    if (quads && reinterpret_cast<uintptr_t>(from) % 16 == 0)
      return launch("split_in_int8", split_rows_kernel<Operand, quads, team>, geometry, stream, from, split,
                    operand);
    return launch("split_in_int8", split_rows_kernel<Operand, false, team>, geometry, stream, from, split,
                  operand);
  } else {
    static_assert(column_slices<Operand> * sizeof(RowSpread) <= 2 * Operand::depth * sizeof(__half),
                  "a deeper operand");
    // The statistics use the memory of the fp16 and int8 numbers, which are written later.
    auto* spreads = reinterpret_cast<RowSpread*>(split);
    const unsigned rows = blocks_of(divide_up(operand.rows(), 256)),
                   tiles = blocks_of(divide_up(operand.rows(), column_tile));
    STITCH_OK_OR_RETURN(launch("spread_of_columns", spread_columns_kernel<Operand>,
                               {{rows, column_slices<Operand>}, 256}, stream, from, spreads, operand));
    STITCH_OK_OR_RETURN(launch("scales_of_columns", scale_columns_kernel<Operand>, {rows, 256}, stream,
                               static_cast<const RowSpread*>(spreads), operand.scales(split),
                               operand.centres(split), operand));
    return launch("split_in_int8", split_columns_kernel<Operand>,
                  {{tiles, static_cast<unsigned>(divide_up(Operand::depth, column_depth))}, 256}, stream,
                  from, split, operand);
  }
}

// (high · high' + low / 4096) · both scales + the row's mean · the column's sum, then the epilogue;
// recomputed sums are used directly.
template <class Product, int width, class Epilogue>
__global__ void __launch_bounds__(arrange_threads)
    finish_int8_kernel(const float* __restrict__ large, const int* __restrict__ small,
                       const float* __restrict__ row_scales, const float* __restrict__ column_scales,
                       const float* __restrict__ means, const float* __restrict__ totals,
                       typename Product::Out* out, Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Flat = flat_t<Product>;
  const int64_t count = int64_t{product.batches} * product.rows * product.columns;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * arrange_threads + threadIdx.x) * width;
  if (wide >= count) return;
  const Flat element = static_cast<Flat>(wide), columns = static_cast<Flat>(product.columns),
             rows = static_cast<Flat>(product.rows);
  const Index column = static_cast<Index>(element % columns),
              row = static_cast<Index>(element / columns % rows),
              batch = static_cast<Index>(element / columns / rows);
  const float of_row = row_scales[batch * product.rows + row], mean = means[batch * product.rows + row];
  const auto of_columns =
      *reinterpret_cast<const Pack<float, width>*>(column_scales + batch * product.columns + column);
  const auto column_totals =
      *reinterpret_cast<const Pack<float, width>*>(totals + batch * product.columns + column);
  const auto large_sums = *reinterpret_cast<const Pack<float, width>*>(large + element);
  const auto small_sums = *reinterpret_cast<const Pack<int, width>*>(small + element);
  Pack<typename Product::Out, width> results;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    float sum = large_sums[i];
    if (of_row > 0.0f && of_columns[i] > 0.0f)
      sum = fmaf(mean, column_totals[i],
                 (sum + static_cast<float>(small_sums[i]) * (1.0f / 4096.0f)) * of_row * of_columns[i]);
    results[i] = static_cast<typename Product::Out>(epilogue(sum, product.position(batch, row, column + i)));
  }
  *reinterpret_cast<Pack<typename Product::Out, width>*>(out + product.out(batch, row, column)) = results;
}

// Recomputes marked sums and finishes all. `dense`: high sums, (batches, rows, columns), then low ones.
// `quads`: every four elements of a row are contiguous in `out`, 16-byte aligned if it is.
template <bool quads, class LeftOperand, class RightOperand, class Out, class Epilogue>
StitchStatus finish_int8_product(const char* name, LeftOperand left_operand, RightOperand right_operand,
                                 const __half* left, const __half* right, float* dense, Out* out,
                                 Epilogue epilogue, cudaStream_t stream) {
  const auto product = left_operand.product;
  using Product = std::remove_const_t<decltype(product)>;
  const int64_t count = int64_t{product.batches} * product.rows * product.columns;
  const float *row_scales = left_operand.scales(left), *column_scales = right_operand.scales(right),
              *large = dense;
  const float *means = left_operand.centres(left), *totals = right_operand.centres(right);
  const int* small = reinterpret_cast<const int*>(dense + count);
  STITCH_OK_OR_RETURN(launch("marked_sums", marked_sums_kernel<LeftOperand, RightOperand>,
                             {static_cast<unsigned>(product.batches * marked_blocks(product)), 256}, stream,
                             left, right, dense, left_operand, right_operand));
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(out) % 16 == 0)
      return launch(name, finish_int8_kernel<Product, 4, Epilogue>, one_thread_each(count / 4), stream, large,
                    small, row_scales, column_scales, means, totals, out, epilogue, product);
  }
  return launch(name, finish_int8_kernel<Product, 1, Epilogue>, one_thread_each(count), stream, large, small,
                row_scales, column_scales, means, totals, out, epilogue, product);
}

}  // namespace stitch
