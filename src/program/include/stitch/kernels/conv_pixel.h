// Convolutions of images that are single pixels, as behind a global pool: filters (rows, depth) times samples
// (depth, columns), both small. A warp makes four filters of four samples, its lanes along the channels, so
// that every number it loads counts four times; everything stays in L2. Sums in FP32, any types and strides.
//   P: the indices of the product, as in matmul.h.
#pragma once

#include "stitch/kernels/matmul.h"

namespace stitch {
constexpr int pixel_threads = 128, pixel_side = 4;

template <class P, class Epilogue>
__global__ void __launch_bounds__(pixel_threads)
    conv_pixel_kernel(const typename P::Left* __restrict__ weight, const typename P::Right* __restrict__ x,
                      typename P::Out* __restrict__ out, Epilogue epilogue) {
  using Index = typename P::Index;
  constexpr int row_tiles = (static_cast<int>(P::rows) + pixel_side - 1) / pixel_side;
  constexpr int column_tiles = (static_cast<int>(P::columns) + pixel_side - 1) / pixel_side;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int tile = static_cast<int>(blockIdx.x) * (pixel_threads / 32) + thread / 32;
  if (tile >= row_tiles * column_tiles) return;  // the whole warp
  const Index row = tile % row_tiles * pixel_side, column = tile / row_tiles * pixel_side;
  float sums[pixel_side][pixel_side] = {};
  for (Index k = lane; k < P::depth; k += 32) {
    float left[pixel_side], right[pixel_side];
#pragma unroll
    for (int i = 0; i < pixel_side; ++i) {
      left[i] = row + i < P::rows ? static_cast<float>(weight[P::left(0, row + i, k)]) : 0.0f;
      right[i] = column + i < P::columns ? static_cast<float>(x[P::right(0, k, column + i)]) : 0.0f;
    }
#pragma unroll
    for (int r = 0; r < pixel_side; ++r)
#pragma unroll
      for (int c = 0; c < pixel_side; ++c) sums[r][c] += left[r] * right[c];
  }
  float own = 0.0f;  // a lane each
#pragma unroll
  for (int r = 0; r < pixel_side; ++r)
#pragma unroll
    for (int c = 0; c < pixel_side; ++c) {
      float sum = sums[r][c];
#pragma unroll
      for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
      if (lane == r * pixel_side + c) own = sum;
    }
  const Index own_row = row + lane / pixel_side, own_column = column + lane % pixel_side;
  if (lane >= pixel_side * pixel_side || own_row >= P::rows || own_column >= P::columns) return;
  out[P::out(0, own_row, own_column)] =
      static_cast<typename P::Out>(epilogue(own, P::position(0, own_row, own_column)));
}

template <class P, class Epilogue>
StitchStatus enqueue_conv_pixel(const char* name, const typename P::Left* weight, const typename P::Right* x,
                                typename P::Out* out, Epilogue epilogue, cudaStream_t stream) {
  const int64_t tiles = divide_up(P::rows, pixel_side) * divide_up(P::columns, pixel_side);
  return launch(name, conv_pixel_kernel<P, Epilogue>,
                {static_cast<unsigned>(divide_up(tiles, pixel_threads / 32)), pixel_threads}, stream, weight,
                x, out, epilogue);
}

}  // namespace stitch
