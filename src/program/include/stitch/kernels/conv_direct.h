// Convolutions with few channels and few filters, in FP32 on the CUDA cores: a block holds a part of an
// image, or several small images, in shared memory with all filters, and a thread computes all filters of
// `pixels` pixels. Described by a struct, as in matmul.h:
//   struct Conv1Layer {  // y (4096, 6, 28, 28) = x (4096, 1, 32, 32) * weight (6, 1, 5, 5)
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int batch, channels, filters, height, width, out_height, out_width;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
//     static constexpr int images, tile_height, tile_width, pixels;  // of a block; of a thread
//     static constexpr int out_pack;  // contiguous filters of a pixel, aligned
//     __device__ static Index x(Index n, Index c, Index y, Index x);  // also out
//   };
// The epilogue is called with (value, sample, channel, pixel).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {

template <class Layer>
struct DirectTile {
  static constexpr int rows =
      (Layer::tile_height - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1;
  static constexpr int columns =
      (Layer::tile_width - 1) * Layer::stride_x + (Layer::kernel_x - 1) * Layer::dilation_x + 1;
  static constexpr int plane = rows * columns, taps = Layer::kernel_y * Layer::kernel_x;
  static constexpr int out_plane = Layer::tile_height * Layer::tile_width;
  __host__ __device__ static constexpr int across(Layer layer) {
    return (layer.out_width + Layer::tile_width - 1) / Layer::tile_width;
  }
  __host__ __device__ static constexpr int down(Layer layer) {
    return (layer.out_height + Layer::tile_height - 1) / Layer::tile_height;
  }
  static constexpr int threads =
      (Layer::images * out_plane + 32 * Layer::pixels - 1) / (32 * Layer::pixels) * 32;
  static constexpr int load_width = Layer::filters % 4 == 0 ? 4 : Layer::filters % 2 == 0 ? 2 : 1;
};

// Stores `pack` results of a pixel at once.
template <class Layer, int pack, class Epilogue>
__global__ void __launch_bounds__(DirectTile<Layer>::threads)
    conv_direct_kernel(const typename Layer::In* __restrict__ x,
                       const typename Layer::Weight* __restrict__ weight,
                       typename Layer::Out* __restrict__ out, Epilogue epilogue, Layer layer) {
  wait_for_previous_kernel();
  using Tile = DirectTile<Layer>;
  using Index = typename Layer::Index;
  constexpr int load_width = Tile::load_width, taps = Tile::taps;
  __shared__ float image[Layer::images * Layer::channels * Tile::plane];
  __shared__ __align__(
      16) float filter[Layer::channels * taps * Layer::filters];  // (channels, taps, filters)
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int across = Tile::across(layer), down = Tile::down(layer);
  const int out_x0 = block % across * Layer::tile_width, out_y0 = block / across % down * Layer::tile_height,
            n0 = block / across / down * Layer::images;
  const int x0 = out_x0 * Layer::stride_x - Layer::pad_x, y0 = out_y0 * Layer::stride_y - Layer::pad_y;
  // Several loads of a thread are issued before the first store.
  constexpr int elements = Layer::images * Layer::channels * Tile::plane, under_way = 8;
  for (int first = thread; first < elements; first += under_way * Tile::threads) {
    float values[under_way];
#pragma unroll
    for (int j = 0; j < under_way; ++j) {
      const int i = first + j * Tile::threads;
      const int column = x0 + i % Tile::columns, row = y0 + i / Tile::columns % Tile::rows,
                channel = i / Tile::plane % Layer::channels, n = n0 + i / Tile::plane / Layer::channels;
      const bool inside = i < elements && row >= 0 && row < layer.height && column >= 0 &&
                          column < layer.width && n < layer.batch;
      values[j] = inside ? static_cast<float>(x[layer.x(n, channel, row, column)]) : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < under_way; ++j)
      if (first + j * Tile::threads < elements) image[first + j * Tile::threads] = values[j];
  }
  for (int i = thread; i < Layer::channels * taps * Layer::filters; i += Tile::threads)
    filter[i] =
        static_cast<float>(weight[i % Layer::filters * (Layer::channels * taps) + i / Layer::filters]);
  __syncthreads();

  // Adjacent threads have adjacent pixels; a thread's own pixels are a block apart.
  int start[Layer::pixels];
#pragma unroll
  for (int p = 0; p < Layer::pixels; ++p) {
    const int at = thread + p * Tile::threads;
    const bool some = at < Layer::images * Tile::out_plane;
    const int of = some ? at / Tile::out_plane : 0, pixel = some ? at % Tile::out_plane : 0;
    start[p] = of * Layer::channels * Tile::plane +
               pixel / Layer::tile_width * Layer::stride_y * Tile::columns +
               pixel % Layer::tile_width * Layer::stride_x;
  }
  float sums[Layer::pixels][Layer::filters] = {};
  for (int channel = 0; channel < Layer::channels; ++channel)
    for (int tap_y = 0; tap_y < Layer::kernel_y; ++tap_y) {
      const int row = channel * Tile::plane + tap_y * Layer::dilation_y * Tile::columns;
      const float* weights = filter + (channel * taps + tap_y * Layer::kernel_x) * Layer::filters;
#pragma unroll
      for (int tap_x = 0; tap_x < Layer::kernel_x; ++tap_x) {
        float values[Layer::pixels];
#pragma unroll
        for (int p = 0; p < Layer::pixels; ++p) values[p] = image[start[p] + row + tap_x * Layer::dilation_x];
#pragma unroll
        for (int f = 0; f < Layer::filters; f += load_width) {
          const auto some = load<load_width>(weights + tap_x * Layer::filters + f, 0);
#pragma unroll
          for (int u = 0; u < load_width; ++u)
#pragma unroll
            for (int p = 0; p < Layer::pixels; ++p) sums[p][f + u] += values[p] * some[u];
        }
      }
    }
#pragma unroll
  for (int p = 0; p < Layer::pixels; ++p) {
    const int at = thread + p * Tile::threads, pixel = at % Tile::out_plane, n = n0 + at / Tile::out_plane;
    const int row = out_y0 + pixel / Layer::tile_width, column = out_x0 + pixel % Layer::tile_width;
    if (at >= Layer::images * Tile::out_plane || n >= layer.batch || row >= layer.out_height ||
        column >= layer.out_width)
      continue;
#pragma unroll
    for (int f = 0; f < Layer::filters; f += pack) {
      Pack<typename Layer::Out, pack> results;
#pragma unroll
      for (int u = 0; u < pack; ++u)
        results[u] = static_cast<typename Layer::Out>(
            epilogue(sums[p][f + u], static_cast<Index>(n), f + u, row * layer.out_width + column));
      store<pack>(out + layer.out(static_cast<Index>(n), f, row, column), 0, results);
    }
  }
}

template <class Layer, class Epilogue>
StitchStatus enqueue_conv_direct(const char* name, Layer layer, const typename Layer::In* x,
                                 const typename Layer::Weight* weight, typename Layer::Out* out,
                                 Epilogue epilogue, cudaStream_t stream) {
  using Tile = DirectTile<Layer>;
  const int64_t blocks = divide_up(layer.batch, Layer::images) * Tile::across(layer) * Tile::down(layer);
  const Geometry geometry{blocks_of(blocks), Tile::threads};
  if constexpr (Layer::out_pack > 1)
    if (reinterpret_cast<uintptr_t>(out) % (Layer::out_pack * sizeof(typename Layer::Out)) == 0)
      return launch(name, conv_direct_kernel<Layer, Layer::out_pack, Epilogue>, geometry, stream, x, weight,
                    out, epilogue, layer);
  return launch(name, conv_direct_kernel<Layer, 1, Epilogue>, geometry, stream, x, weight, out, epilogue,
                layer);
}

}  // namespace stitch
