// Convolutions of images that are single pixels, as behind a global pool: filters (rows, depth) times samples
// (depth, columns), both small, so that what counts is how long a load takes, not how many there are. One to
// four warps make four filters of four samples, lanes along the channels: every number they load counts four
// times, and 32 loads of a lane are under way together. Sums in FP32, any types and strides.
//   P: the indices of the product, as in matmul.h.
#pragma once

#include "stitch/kernels/matmul.h"

namespace stitch {
constexpr int pixel_side = 4, pixel_ahead = 4;  // steps along the channels whose loads are under way

template <class P>
struct PixelTile {
  static constexpr int warps = P::depth > 256 ? 4 : P::depth > 128 ? 2 : 1;  // along the channels
  static constexpr int tiles = 4 / warps, threads = 128;                     // of a block
  static constexpr int row_tiles = (static_cast<int>(P::rows) + pixel_side - 1) / pixel_side;
  static constexpr int column_tiles = (static_cast<int>(P::columns) + pixel_side - 1) / pixel_side;
};

// Sixteen sums over the lanes of a warp: lanes 2 i and 2 i + 1 have the i-th.
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

template <class P, class Epilogue>
__global__ void __launch_bounds__(PixelTile<P>::threads)
    conv_pixel_kernel(const typename P::Left* __restrict__ weight, const typename P::Right* __restrict__ x,
                      typename P::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = PixelTile<P>;
  using Index = typename P::Index;
  __shared__ float partial[4][pixel_side * pixel_side];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int tile = static_cast<int>(blockIdx.x) * Tile::tiles + warp / Tile::warps;
  const Index row = tile % Tile::row_tiles * pixel_side, column = tile / Tile::row_tiles * pixel_side;
  constexpr Index stride = Tile::warps * 32;
  float sums[pixel_side * pixel_side] = {};
  for (Index k0 = warp % Tile::warps * 32 + lane; k0 < P::depth; k0 += stride * pixel_ahead) {
    float left[pixel_ahead][pixel_side], right[pixel_ahead][pixel_side];
#pragma unroll
    for (int a = 0; a < pixel_ahead; ++a)
#pragma unroll
      for (int i = 0; i < pixel_side; ++i) {
        const Index k = k0 + a * stride;
        const bool inside = k < P::depth;
        left[a][i] = inside && row + i < P::rows ? static_cast<float>(weight[P::left(0, row + i, k)]) : 0.0f;
        right[a][i] =
            inside && column + i < P::columns ? static_cast<float>(x[P::right(0, k, column + i)]) : 0.0f;
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
  if (tile >= Tile::row_tiles * Tile::column_tiles || own_row >= P::rows || own_column >= P::columns) return;
  out[P::out(0, own_row, own_column)] =
      static_cast<typename P::Out>(epilogue(sum, P::position(0, own_row, own_column)));
}

template <class P, class Epilogue>
StitchStatus enqueue_conv_pixel(const char* name, const typename P::Left* weight, const typename P::Right* x,
                                typename P::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Tile = PixelTile<P>;
  const int64_t tiles = int64_t{Tile::row_tiles} * Tile::column_tiles;
  return launch(name, conv_pixel_kernel<P, Epilogue>,
                {static_cast<unsigned>(divide_up(tiles, Tile::tiles)), Tile::threads}, stream, weight, x, out,
                epilogue);
}

}  // namespace stitch
