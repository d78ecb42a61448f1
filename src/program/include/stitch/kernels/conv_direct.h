// Convolutions over few channels with few filters, in FP32 on the CUDA cores: a block has a part of an image,
// or several small images, in shared memory with all filters, and a thread makes all filters' results of
// `pixels` pixels. What is convolved stands in a struct, as in matmul.h:
//   struct Conv1Layer {  // y (4096, 6, 28, 28) = x (4096, 1, 32, 32) * weight (6, 1, 5, 5)
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int batch, channels, filters, height, width, out_height, out_width;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
//     static constexpr int images, tile_height, tile_width, pixels;  // of a block; of a thread
//     static constexpr int out_pack;  // filters of a pixel that lie side by side, at a multiple of as many
//     __device__ static Index x(Index n, Index c, Index y, Index x);  // also out
//   };
// The epilogue is asked for (value, sample, channel, pixel).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {

template <class S>
struct DirectTile {
  static constexpr int rows = (S::tile_height - 1) * S::stride_y + (S::kernel_y - 1) * S::dilation_y + 1;
  static constexpr int columns = (S::tile_width - 1) * S::stride_x + (S::kernel_x - 1) * S::dilation_x + 1;
  static constexpr int plane = rows * columns, taps = S::kernel_y * S::kernel_x;
  static constexpr int out_plane = S::tile_height * S::tile_width;
  static constexpr int across = (S::out_width + S::tile_width - 1) / S::tile_width;
  static constexpr int down = (S::out_height + S::tile_height - 1) / S::tile_height;
  static constexpr int64_t blocks = int64_t{(S::batch + S::images - 1) / S::images} * across * down;
  static constexpr int threads = (S::images * out_plane + 32 * S::pixels - 1) / (32 * S::pixels) * 32;
  static constexpr int together = S::filters % 4 == 0 ? 4 : S::filters % 2 == 0 ? 2 : 1;
};

// `pack` results of a pixel are stored at once.
template <class S, int pack, class Epilogue>
__global__ void __launch_bounds__(DirectTile<S>::threads)
    conv_direct_kernel(const typename S::In* __restrict__ x, const typename S::Weight* __restrict__ weight,
                       typename S::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = DirectTile<S>;
  using Index = typename S::Index;
  constexpr int together = Tile::together, taps = Tile::taps;
  __shared__ float image[S::images * S::channels * Tile::plane];
  __shared__ __align__(16) float filter[S::channels * taps * S::filters];  // (channels, taps, filters)
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int out_x0 = block % Tile::across * S::tile_width,
            out_y0 = block / Tile::across % Tile::down * S::tile_height,
            n0 = block / Tile::across / Tile::down * S::images;
  const int x0 = out_x0 * S::stride_x - S::pad_x, y0 = out_y0 * S::stride_y - S::pad_y;
  // Several loads of a thread are on their way before the first is stored.
  constexpr int elements = S::images * S::channels * Tile::plane, under_way = 8;
  for (int first = thread; first < elements; first += under_way * Tile::threads) {
    float values[under_way];
#pragma unroll
    for (int j = 0; j < under_way; ++j) {
      const int i = first + j * Tile::threads;
      const int column = x0 + i % Tile::columns, row = y0 + i / Tile::columns % Tile::rows,
                channel = i / Tile::plane % S::channels, n = n0 + i / Tile::plane / S::channels;
      const bool inside =
          i < elements && row >= 0 && row < S::height && column >= 0 && column < S::width && n < S::batch;
      values[j] = inside ? static_cast<float>(x[S::x(n, channel, row, column)]) : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < under_way; ++j)
      if (first + j * Tile::threads < elements) image[first + j * Tile::threads] = values[j];
  }
  for (int i = thread; i < S::channels * taps * S::filters; i += Tile::threads)
    filter[i] = static_cast<float>(weight[i % S::filters * (S::channels * taps) + i / S::filters]);
  __syncthreads();

  // Neighbouring threads have neighbouring pixels; those of a thread are a block's threads apart.
  int start[S::pixels];
#pragma unroll
  for (int p = 0; p < S::pixels; ++p) {
    const int at = thread + p * Tile::threads;
    const bool some = at < S::images * Tile::out_plane;
    const int of = some ? at / Tile::out_plane : 0, pixel = some ? at % Tile::out_plane : 0;
    start[p] = of * S::channels * Tile::plane + pixel / S::tile_width * S::stride_y * Tile::columns +
               pixel % S::tile_width * S::stride_x;
  }
  float sums[S::pixels][S::filters] = {};
  for (int channel = 0; channel < S::channels; ++channel)
    for (int tap_y = 0; tap_y < S::kernel_y; ++tap_y) {
      const int row = channel * Tile::plane + tap_y * S::dilation_y * Tile::columns;
      const float* weights = filter + (channel * taps + tap_y * S::kernel_x) * S::filters;
#pragma unroll
      for (int tap_x = 0; tap_x < S::kernel_x; ++tap_x) {
        float values[S::pixels];
#pragma unroll
        for (int p = 0; p < S::pixels; ++p) values[p] = image[start[p] + row + tap_x * S::dilation_x];
#pragma unroll
        for (int f = 0; f < S::filters; f += together) {
          const auto some = load<together>(weights + tap_x * S::filters + f, 0);
#pragma unroll
          for (int u = 0; u < together; ++u)
#pragma unroll
            for (int p = 0; p < S::pixels; ++p) sums[p][f + u] += values[p] * some[u];
        }
      }
    }
#pragma unroll
  for (int p = 0; p < S::pixels; ++p) {
    const int at = thread + p * Tile::threads, pixel = at % Tile::out_plane, n = n0 + at / Tile::out_plane;
    const int row = out_y0 + pixel / S::tile_width, column = out_x0 + pixel % S::tile_width;
    if (at >= S::images * Tile::out_plane || n >= S::batch || row >= S::out_height || column >= S::out_width)
      continue;
#pragma unroll
    for (int f = 0; f < S::filters; f += pack) {
      Pack<typename S::Out, pack> results;
#pragma unroll
      for (int u = 0; u < pack; ++u)
        results[u] = static_cast<typename S::Out>(
            epilogue(sums[p][f + u], static_cast<Index>(n), f + u, row * S::out_width + column));
      store<pack>(out + S::out(static_cast<Index>(n), f, row, column), 0, results);
    }
  }
}

template <class S, class Epilogue>
StitchStatus enqueue_conv_direct(const char* name, const typename S::In* x, const typename S::Weight* weight,
                                 typename S::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Tile = DirectTile<S>;
  static_assert(Tile::blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  const Geometry geometry{static_cast<unsigned>(Tile::blocks), Tile::threads};
  if constexpr (S::out_pack > 1)
    if (reinterpret_cast<uintptr_t>(out) % (S::out_pack * sizeof(typename S::Out)) == 0)
      return launch(name, conv_direct_kernel<S, S::out_pack, Epilogue>, geometry, stream, x, weight, out,
                    epilogue);
  return launch(name, conv_direct_kernel<S, 1, Epilogue>, geometry, stream, x, weight, out, epilogue);
}

}  // namespace stitch
