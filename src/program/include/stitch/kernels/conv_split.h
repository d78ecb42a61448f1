// Convolutions over few channels as gathering products on fp16 tensor cores: Product as in matmul.h. x is
// read about rows/64 times from the caches, the result written once, finished. At FP32 accuracy (`exact`)
// every number is a pair of fp16, x = high + low / 2048:
//   w · x = w_high · x_high + (w_high · x_low + w_low · x_high) / 2048
// with FP32 sums, errors of 2^-22; otherwise high parts only, with TF32's accuracy. x is divided by 16, so
// that values up to a million fit into fp16.
#pragma once

#include <mma.h>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/split_pair.h"

namespace stitch {
namespace split_tile {
constexpr int columns = 128, threads = 256, warps = threads / 32, step = 16;
constexpr int depth = 48;                  // gathered at once
constexpr int pitch = columns + 8;         // of halves: rows start in different banks
constexpr int result_pitch = columns + 4;  // of floats
constexpr int low_scale = 2048;
constexpr float x_scale = 0.0625f;
template <class Product>
constexpr int rows = Product::rows >= 49 ? 64 : static_cast<int>((Product::rows + 15) / 16 * 16);
template <class Product>
constexpr int64_t padded_rows = (int64_t{Product::rows} + rows<Product> - 1) / rows<Product>* rows<Product>;
template <class Product>
constexpr int64_t padded_depth = (int64_t{Product::depth} + step - 1) / step* step;
template <class Product>
constexpr int64_t packed =
    int64_t{Product::batches} * padded_rows<Product>* padded_depth<Product>;  // per part
}  // namespace split_tile

// packed (2, batches, padded rows, padded depth): high parts, then low ones.
template <class Product>
__global__ void __launch_bounds__(256)
    pack_split_kernel(const typename Product::Left* __restrict__ weight, __half* __restrict__ packed) {
  wait_for_previous_kernel();
  namespace tile = split_tile;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= tile::packed<Product>) return;
  const int64_t k = i % tile::padded_depth<Product>,
                row = i / tile::padded_depth<Product> % tile::padded_rows<Product>,
                batch = i / tile::padded_depth<Product> / tile::padded_rows<Product>;
  using Index = typename Product::Index;
  float value = 0.0f;
  if (k < Product::depth && row < Product::rows)
    value = static_cast<float>(
        weight[Product::left(static_cast<Index>(batch), static_cast<Index>(row), static_cast<Index>(k))]);
  const __half high = __float2half(value);
  packed[i] = high;
  packed[tile::packed<Product> + i] = low_half<tile::low_scale>(value, high);
}
template <class Product>
StitchStatus pack_split(const typename Product::Left* weight, __half* packed, cudaStream_t stream) {
  return launch("pack_split", pack_split_kernel<Product>,
                {static_cast<unsigned>(divide_up(split_tile::packed<Product>, 256)), 256}, stream, weight,
                packed);
}

// A block computes a tile of rows x 128 columns, a warp 16 columns of it. `last`: rows of the result are
// contiguous, not columns.
template <class Product, bool exact, bool last, class Epilogue>
__global__ void __launch_bounds__(split_tile::threads)
    conv_split_kernel(const typename Product::Right* __restrict__ x, const __half* __restrict__ packed,
                      typename Product::Out* __restrict__ out, Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  namespace tile = split_tile;
  namespace wmma = nvcuda::wmma;
  using Index = typename Product::Index;
  using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
  using Right = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;
  using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;
  constexpr int rows = tile::rows<Product>, row_tiles = rows / 16, parts = exact ? 2 : 1;
  constexpr int64_t padded_depth = tile::padded_depth<Product>;
  constexpr int gathered_bytes = parts * tile::depth * tile::pitch * 2,
                result_bytes = rows * tile::result_pitch * 4;
  __shared__ __align__(128) char memory[gathered_bytes > result_bytes ? gathered_bytes : result_bytes];
  auto* gathered = reinterpret_cast<__half*>(memory);  // (parts, depth, pitch)
  auto* result = reinterpret_cast<float*>(memory);     // (rows, result_pitch)

  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const Index column0 = static_cast<Index>(blockIdx.x) * tile::columns;
  const Index row0 = static_cast<Index>(blockIdx.y) * rows, batch = static_cast<Index>(blockIdx.z);
  const Index own = column0 + thread % tile::columns;
  const __half* weights = packed + (batch * tile::padded_rows<Product> + row0) * padded_depth;

  Sum sums[row_tiles], small[row_tiles];
#pragma unroll
  for (int i = 0; i < row_tiles; ++i) {
    wmma::fill_fragment(sums[i], 0.0f);
    wmma::fill_fragment(small[i], 0.0f);
  }
  for (int first = 0; first < padded_depth; first += tile::depth) {
    constexpr int each = tile::depth * tile::columns / tile::threads;
    float values[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int k = first + thread / tile::columns + i * (tile::threads / tile::columns);
      values[i] = 0.0f;
      if (k < Product::depth && own < product.columns)
        values[i] =
            load_right<Product, float>(x, product.right(batch, static_cast<Index>(k), own)) * tile::x_scale;
    }
    __syncthreads();  // the previous chunk may still be read
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int at = (thread / tile::columns + i * (tile::threads / tile::columns)) * tile::pitch +
                     thread % tile::columns;
      const __half high = __float2half(values[i]);
      gathered[at] = high;
      if constexpr (exact)
        gathered[tile::depth * tile::pitch + at] = low_half<tile::low_scale>(values[i], high);
    }
    __syncthreads();
    for (int k = 0; k < tile::depth && first + k < padded_depth; k += tile::step) {
      const __half* columns_of_warp = gathered + k * tile::pitch + warp * 16;
      Right high, low;
      wmma::load_matrix_sync(high, columns_of_warp, tile::pitch);
      if constexpr (exact)
        wmma::load_matrix_sync(low, columns_of_warp + tile::depth * tile::pitch, tile::pitch);
#pragma unroll
      for (int i = 0; i < row_tiles; ++i) {
        Left weight;
        const __half* from = weights + i * 16 * padded_depth + first + k;
        wmma::load_matrix_sync(weight, from, padded_depth);
        wmma::mma_sync(sums[i], weight, high, sums[i]);
        if constexpr (exact) {
          wmma::mma_sync(small[i], weight, low, small[i]);
          wmma::load_matrix_sync(weight, from + tile::packed<Product>, padded_depth);
          wmma::mma_sync(small[i], weight, high, small[i]);
        }
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < row_tiles; ++i) {
    for (int e = 0; e < sums[i].num_elements; ++e)
      sums[i].x[e] = (sums[i].x[e] + small[i].x[e] * (1.0f / tile::low_scale)) * (1.0f / tile::x_scale);
    wmma::store_matrix_sync(result + i * 16 * tile::result_pitch + warp * 16, sums[i], tile::result_pitch,
                            wmma::mem_row_major);
  }
  __syncthreads();
  for (int i = thread; i < rows * tile::columns; i += tile::threads) {
    const int row = last ? i % rows : i / tile::columns, column = last ? i / rows : i % tile::columns;
    const Index to_row = row0 + row, to_column = column0 + column;
    if (to_row >= Product::rows || to_column >= product.columns) continue;
    out[product.out(batch, to_row, to_column)] = static_cast<typename Product::Out>(
        epilogue(result[row * tile::result_pitch + column], product.position(batch, to_row, to_column)));
  }
}
template <bool exact, bool last, class Product, class Epilogue>
StitchStatus enqueue_conv_split(const char* name, Product product, const typename Product::Right* x,
                                const __half* packed, typename Product::Out* out, Epilogue epilogue,
                                cudaStream_t stream) {
  namespace tile = split_tile;
  return launch(name, conv_split_kernel<Product, exact, last, Epilogue>,
                {dim3(blocks_of(divide_up(product.columns, tile::columns)),
                      static_cast<unsigned>(tile::padded_rows<Product> / tile::rows<Product>),
                      static_cast<unsigned>(Product::batches)),
                 tile::threads},
                stream, x, packed, out, epilogue, product);
}

}  // namespace stitch
