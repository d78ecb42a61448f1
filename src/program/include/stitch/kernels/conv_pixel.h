// Convolutions of single-pixel images, as after a global pool: filters (rows, depth) times samples (depth,
// columns), both small, so load latency dominates. One to four warps compute four filters of four samples,
// lanes along the channels: every loaded number is used four times, and 32 loads per lane are in flight. FP32
// sums, any types and strides.
//   Product: the product's indices, as in matmul.h.
#pragma once

#include "stitch/kernels/matmul.h"

namespace stitch {
constexpr int pixel_side = 4, pixel_ahead = 4;  // channel steps prefetched

template <class Product>
struct PixelTile {
  static constexpr int warps = Product::depth > 256 ? 4 : Product::depth > 128 ? 2 : 1;  // along the channels
  static constexpr int tiles = 4 / warps, threads = 128;                                 // per block
  static constexpr int row_tiles = (static_cast<int>(Product::rows) + pixel_side - 1) / pixel_side;
  __host__ __device__ static constexpr int column_tiles(Product product) {
    return (static_cast<int>(product.columns) + pixel_side - 1) / pixel_side;
  }
};

// Sixteen sums over a warp: lanes 2 i and 2 i + 1 get the i-th.
__device__ __forceinline__ float sum_of_sixteen(float (&sums)[16], int lane) {
#pragma unroll
  for (int half = 8, mask = 16; half > 0; half /= 2, mask /= 2) {
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float kept = upper ? sums[i + half] : sums[i], given = upper ? sums[i] : sums[i + half];
      sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, mask);
    }
  }
  return sums[0] + __shfl_xor_sync(0xffffffffu, sums[0], 1);
}

template <class Product, class Epilogue>
__global__ void __launch_bounds__(PixelTile<Product>::threads)
    conv_pixel_kernel(const typename Product::Left* __restrict__ weight,
                      const typename Product::Right* __restrict__ x, typename Product::Out* __restrict__ out,
                      Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  using Tile = PixelTile<Product>;
  using Index = typename Product::Index;
  __shared__ float partial[4][pixel_side * pixel_side];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int tile = static_cast<int>(blockIdx.x) * Tile::tiles + warp / Tile::warps;
  const Index row = tile % Tile::row_tiles * pixel_side, column = tile / Tile::row_tiles * pixel_side;
  constexpr Index stride = Tile::warps * 32;
  float sums[pixel_side * pixel_side] = {};
  for (Index k0 = warp % Tile::warps * 32 + lane; k0 < Product::depth; k0 += stride * pixel_ahead) {
    float left[pixel_ahead][pixel_side], right[pixel_ahead][pixel_side];
#pragma unroll
    for (int a = 0; a < pixel_ahead; ++a)
#pragma unroll
      for (int i = 0; i < pixel_side; ++i) {
        const Index k = k0 + a * stride;
        const bool inside = k < Product::depth;
        left[a][i] = inside && row + i < Product::rows
                         ? static_cast<float>(weight[product.left(0, row + i, k)])
                         : 0.0f;
        right[a][i] = inside && column + i < product.columns
                          ? static_cast<float>(x[product.right(0, k, column + i)])
                          : 0.0f;
      }
#pragma unroll
    for (int a = 0; a < pixel_ahead; ++a)
#pragma unroll
      for (int r = 0; r < pixel_side; ++r)
#pragma unroll
        for (int c = 0; c < pixel_side; ++c) sums[r * pixel_side + c] += left[a][r] * right[a][c];
  }
  const float own = sum_of_sixteen(sums, lane);
  if (lane % 2 == 0) partial[warp][lane / 2] = own;
  __syncthreads();
  if (warp % Tile::warps != 0 || lane >= pixel_side * pixel_side) return;
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < Tile::warps; ++w) sum += partial[warp + w][lane];
  const Index own_row = row + lane / pixel_side, own_column = column + lane % pixel_side;
  if (tile >= Tile::row_tiles * Tile::column_tiles(product) || own_row >= Product::rows ||
      own_column >= product.columns)
    return;
  out[product.out(0, own_row, own_column)] =
      static_cast<typename Product::Out>(epilogue(sum, product.position(0, own_row, own_column)));
}

template <class Product, class Epilogue>
StitchStatus enqueue_conv_pixel(const char* name, Product product, const typename Product::Left* weight,
                                const typename Product::Right* x, typename Product::Out* out,
                                Epilogue epilogue, cudaStream_t stream) {
  using Tile = PixelTile<Product>;
  const int64_t tiles = int64_t{Tile::row_tiles} * Tile::column_tiles(product);
  return launch(name, conv_pixel_kernel<Product, Epilogue>,
                {blocks_of(divide_up(tiles, Tile::tiles)), Tile::threads}, stream, weight, x, out, epilogue,
                product);
}

}  // namespace stitch
