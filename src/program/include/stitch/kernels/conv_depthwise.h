// Depthwise convolutions: every output channel reads one input channel, so they are bound by memory.
// Described by a struct, as in matmul.h:
//   struct DwLayer {  // y (2, 6, 9, 8) = x (2, 6, 9, 8) * weight (6, 1, 3, 3)
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int batch, height, width, out_height, out_width;
//     static constexpr int usual_batch, usual_height, usual_width;  // of the results tiles are chosen for
//     static constexpr int channels_out, multiplier;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
//     // A block's tile of NCHW images: `planes` of them, threads_x * along wide, threads_y * each high.
//     static constexpr int threads_x, threads_y, each, along, planes;
//     static constexpr bool out_last;    // packs of channels are contiguous in the result
//     static constexpr bool rows_first;  // NCHW: taps are added row by row, like PyTorch's kernel
//     __device__ static Index x(Index n, Index c, Index y, Index x);  // also out
//   };
// The epilogue is called with (value, sample, channel, pixel).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// NCHW: a block computes a tile of one or several small planes from shared memory; a thread has `each`
// vertically adjacent outputs, so that shared rows are read once, `along` times; adjacent pixels of a row
// belong to adjacent threads.
template <class Layer>
struct DepthwiseTile {
  static constexpr int out_height = Layer::threads_y * Layer::each,
                       out_width = Layer::threads_x * Layer::along;
  static constexpr int height =
      (out_height - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1;
  static constexpr int width =
      (out_width - 1) * Layer::stride_x + (Layer::kernel_x - 1) * Layer::dilation_x + 1;
  __host__ __device__ static constexpr int across(Layer layer) {
    return (layer.out_width + out_width - 1) / out_width;
  }
  __host__ __device__ static constexpr int down(Layer layer) {
    return (layer.out_height + out_height - 1) / out_height;
  }
  static constexpr int plane_threads = Layer::threads_x * Layer::threads_y,
                       threads = plane_threads * Layer::planes;
  __host__ __device__ static constexpr int64_t all_planes(Layer layer) {
    return int64_t{layer.batch} * Layer::channels_out;
  }
};

template <class Layer, class Epilogue>
__global__ void __launch_bounds__(DepthwiseTile<Layer>::threads)
    depthwise_planes_kernel(const typename Layer::In* __restrict__ x,
                            const typename Layer::Weight* __restrict__ weight,
                            typename Layer::Out* __restrict__ out, Epilogue epilogue, Layer layer) {
  wait_for_previous_kernel();
  using Tile = DepthwiseTile<Layer>;
  using Index = typename Layer::Index;
  constexpr int taps = Layer::kernel_y * Layer::kernel_x, pixels = Tile::height * Tile::width;
  __shared__ float image[Layer::planes][Tile::height][Tile::width];
  __shared__ float filter[Layer::planes][taps];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t block = blockIdx.x;
  const int across = Tile::across(layer), down = Tile::down(layer);
  const int64_t all_planes = Tile::all_planes(layer);
  const int out_x0 = static_cast<int>(block % across) * Tile::out_width;
  const int out_y0 = static_cast<int>(block / across % down) * Tile::out_height;
  const int64_t plane0 = block / across / down * Layer::planes;
  const int y0 = out_y0 * Layer::stride_y - Layer::pad_y, x0 = out_x0 * Layer::stride_x - Layer::pad_x;
  // Loads are issued before the first store. With one plane per tile there is no division per pixel: that
  // took a third of the time of 3 x 3 filters (H200).
  constexpr int under_way = 5;
  for (int first = thread; first < Layer::planes * pixels; first += under_way * Tile::threads) {
    float values[under_way];
#pragma unroll
    for (int j = 0; j < under_way; ++j) {
      const int i = first + j * Tile::threads, at = Layer::planes == 1 ? i : i % pixels;
      const int64_t plane = Layer::planes == 1 ? plane0 : plane0 + i / pixels;
      const int row = y0 + at / Tile::width, column = x0 + at % Tile::width;
      const bool inside = row >= 0 && row < layer.height && column >= 0 && column < layer.width &&
                          i < Layer::planes * pixels && (Layer::planes == 1 || plane < all_planes);
      const Index channel = static_cast<Index>(plane % Layer::channels_out),
                  n = static_cast<Index>(plane / Layer::channels_out);
      values[j] = inside ? static_cast<float>(x[layer.x(n, channel / Layer::multiplier, row, column)]) : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < under_way; ++j)
      if (first + j * Tile::threads < Layer::planes * pixels)
        (&image[0][0][0])[first + j * Tile::threads] = values[j];
  }
  for (int i = thread; i < Layer::planes * taps; i += Tile::threads) {
    const int64_t plane = plane0 + i / taps;
    (&filter[0][0])[i] = static_cast<float>(weight[plane % Layer::channels_out * taps + i % taps]);
  }
  __syncthreads();

  const int own_plane = thread / Tile::plane_threads, thread_x = thread % Layer::threads_x,
            thread_y = thread % Tile::plane_threads / Layer::threads_x;
  float sums[Layer::along][Layer::each] = {};
  constexpr int rows = (Layer::each - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1;
  auto add = [&](int tap_x, int row) {
#pragma unroll
    for (int j = 0; j < Layer::along; ++j) {
      const float value =
          image[own_plane][thread_y * Layer::each * Layer::stride_y + row]
               [(thread_x + j * Layer::threads_x) * Layer::stride_x + tap_x * Layer::dilation_x];
#pragma unroll
      for (int i = 0; i < Layer::each; ++i) {
        const int below = row - i * Layer::stride_y;  // constant once unrolled
        if (below >= 0 && below % Layer::dilation_y == 0 && below / Layer::dilation_y < Layer::kernel_y)
          sums[j][i] += value * filter[own_plane][below / Layer::dilation_y * Layer::kernel_x + tap_x];
      }
    }
  };
  if constexpr (Layer::rows_first) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int tap_x = 0; tap_x < Layer::kernel_x; ++tap_x) add(tap_x, row);
  } else {
#pragma unroll
    for (int tap_x = 0; tap_x < Layer::kernel_x; ++tap_x)
#pragma unroll
      for (int row = 0; row < rows; ++row) add(tap_x, row);
  }
  const int64_t plane = plane0 + own_plane;
  if (Layer::planes > 1 && plane >= all_planes) return;
  const Index channel = static_cast<Index>(plane % Layer::channels_out),
              n = static_cast<Index>(plane / Layer::channels_out);
#pragma unroll
  for (int j = 0; j < Layer::along; ++j)
#pragma unroll
    for (int i = 0; i < Layer::each; ++i) {
      const Index row = out_y0 + thread_y * Layer::each + i,
                  column = out_x0 + thread_x + j * Layer::threads_x;
      if (row < layer.out_height && column < layer.out_width)
        out[layer.out(n, channel, row, column)] = static_cast<typename Layer::Out>(
            epilogue(sums[j][i], n, channel, row * layer.out_width + column));
    }
}
template <class Layer, class Epilogue>
StitchStatus enqueue_depthwise_planes(const char* name, Layer layer, const typename Layer::In* x,
                                      const typename Layer::Weight* weight, typename Layer::Out* out,
                                      Epilogue epilogue, cudaStream_t stream) {
  using Tile = DepthwiseTile<Layer>;
  const int64_t blocks =
      divide_up(Tile::all_planes(layer), Layer::planes) * Tile::across(layer) * Tile::down(layer);
  return launch(name, depthwise_planes_kernel<Layer, Epilogue>, {blocks_of(blocks), Tile::threads}, stream, x,
                weight, out, epilogue, layer);
}

// NHWC: a thread computes `each` horizontally adjacent outputs in `down` rows, for `vector` channels. A block
// has a few packs of channels of a part of one image, so pixels shared by its threads come from L1. Large
// filters without strides are bound by arithmetic: two channels per thread, more outputs, weights in
// registers. 5 x 5 filters with strides took 2.3 times as long that way (H200).
template <class Layer, int vector>
struct DepthwiseLastTile {
  static constexpr bool large =
      Layer::kernel_y * Layer::kernel_x >= 49 && Layer::stride_y == 1 && Layer::stride_x == 1;
  static constexpr int packs = Layer::channels_out / vector;

  static constexpr int64_t threads_of(int each, int down) {
    return int64_t{Layer::usual_batch} * packs * ((Layer::usual_width + each - 1) / each) *
           ((Layer::usual_height + down - 1) / down);
  }
  // Multiplications and loads of all threads, including outputs past the image's end; fewer threads than a
  // GPU holds take no less time.
  static constexpr int64_t cost_of(int each, int down) {
    const int64_t columns = (each - 1) * Layer::stride_x + (Layer::kernel_x - 1) * Layer::dilation_x + 1,
                  rows = (down - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1,
                  taps = Layer::kernel_y * Layer::kernel_x, threads = threads_of(each, down);
    return (threads < (1 << 16) ? 1 << 16 : threads) *
           (each * down * (taps * vector + 4) + 4 * columns * rows + 2 * taps);
  }
  static constexpr int best_each() {
    int best = 4;
    for (int each : {2, 7})
      for (int down : {1, 2, 4})
        if (cost_of(each, down) < cost_of(best, 1) && cost_of(each, down) < cost_of(best, 2) &&
            cost_of(each, down) < cost_of(best, 4))
          best = each;
    return best;
  }
  static constexpr int best_down() {
    int best = 4;
    for (int down : {2, 1})
      if (cost_of(best_each(), down) < cost_of(best_each(), best)) best = down;
    return best;
  }
  static constexpr int each = large ? best_each() : 4;
  // Two rows share most of their input; small images need many threads instead.
  static constexpr int down = large ? best_down() : threads_of(4, 2) >= (1 << 16) ? 2 : 1;

  // Packs per row of threads: 128 bytes, or fewer if that leaves no thread idle.
  static constexpr int lanes_of(int most) {
    for (int lanes = most; lanes > most / 2; --lanes)
      if (packs % lanes == 0) return lanes;
    return packs < most ? packs : most;
  }
  static constexpr int lanes = lanes_of(vector <= 2 ? 32 : 8);
  static constexpr int chunks = (packs + lanes - 1) / lanes;
  static constexpr int widest = large ? 4 : 8;
  // Even parts of at most so many.
  static constexpr int even(int count, int most) {
    const int parts = (count + most - 1) / most;
    return (count + parts - 1) / parts;
  }
  static constexpr int wide = even((Layer::usual_width + each - 1) / each, widest);
  static constexpr int most_high = 256 / (lanes * wide) < 1 ? 1 : 256 / (lanes * wide);
  static constexpr int high = even((Layer::usual_height + down - 1) / down, most_high);
  static constexpr int used = lanes * wide * high, threads = (used + 31) / 32 * 32;

  // Of one layer: threads and blocks along its axes.
  int across, strips, x_blocks, y_blocks;
  __host__ __device__ explicit constexpr DepthwiseLastTile(Layer layer)
      : across((layer.out_width + each - 1) / each),
        strips((layer.out_height + down - 1) / down),
        x_blocks((across + wide - 1) / wide),
        y_blocks((strips + high - 1) / high) {}
};

// Weights of `vector` channels at a tap; packed (taps, channels_out).
template <int vector>
__device__ void load_depthwise_weights(float (&weights)[vector], const float* __restrict__ packed) {
  constexpr int width = vector < 4 ? vector : 4;
#pragma unroll
  for (int v = 0; v < vector; v += width) {
    const auto pack = load<width>(packed + v, 0);
#pragma unroll
    for (int u = 0; u < width; ++u) weights[v + u] = pack[u];
  }
}

template <class Layer, int vector, class Epilogue>
__global__ void __launch_bounds__(DepthwiseLastTile<Layer, vector>::threads,
                                  DepthwiseLastTile<Layer, vector>::large ? 2 : 1)
    depthwise_last_kernel(const typename Layer::In* __restrict__ x, const float* __restrict__ packed,
                          typename Layer::Out* __restrict__ out, Epilogue epilogue, Layer layer) {
  wait_for_previous_kernel();
  using Tile = DepthwiseLastTile<Layer, vector>;
  using Index = typename Layer::Index;
  const Tile tile(layer);
  constexpr int each = Tile::each, down = Tile::down;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int pack = block / tile.x_blocks / tile.y_blocks % Tile::chunks * Tile::lanes + thread % Tile::lanes;
  const int column0 = block % tile.x_blocks * Tile::wide + thread / Tile::lanes % Tile::wide,
            strip = block / tile.x_blocks % tile.y_blocks * Tile::high + thread / Tile::lanes / Tile::wide;
  if (thread >= Tile::used || pack >= Tile::packs || column0 >= tile.across || strip >= tile.strips) return;
  const Index channel = static_cast<Index>(pack) * vector, out_x = static_cast<Index>(column0) * each,
              out_y = static_cast<Index>(strip) * down,
              n = static_cast<Index>(block / tile.x_blocks / tile.y_blocks / Tile::chunks);
  float sums[down][each][vector] = {};
  constexpr int columns = (each - 1) * Layer::stride_x + (Layer::kernel_x - 1) * Layer::dilation_x + 1;
  constexpr int rows = (down - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1;
  const float* own_weights = packed + channel;  // (taps, channels_out)
  // Large filters: fully unrolled, so that a row of weights stays in registers for all rows of outputs that
  // use it.
  float held[Tile::large ? Layer::kernel_y : 1][Tile::large ? Layer::kernel_x : 1][vector];
  auto add_row = [&](int below) {
    if (down == 1 && below % Layer::dilation_y != 0) return;  // no tap reads it
    if constexpr (Tile::large)
      if (below % Layer::dilation_y == 0 && below / Layer::dilation_y < Layer::kernel_y) {
#pragma unroll
        for (int tap_x = 0; tap_x < Layer::kernel_x; ++tap_x)
          load_depthwise_weights(
              held[below / Layer::dilation_y][tap_x],
              own_weights + (below / Layer::dilation_y * Layer::kernel_x + tap_x) * Layer::channels_out);
      }
    const Index row = out_y * Layer::stride_y + below - Layer::pad_y;
    if (row < 0 || row >= layer.height) return;
    // All loads of this row are issued before the first use.
    Pack<typename Layer::In, vector> values[columns];
#pragma unroll
    for (int step = 0; step < columns; ++step) {
      const Index column = out_x * Layer::stride_x + step - Layer::pad_x;
      if (column >= 0 && column < layer.width)
        values[step] = load<vector>(x + layer.x(n, channel / Layer::multiplier, row, column), 0);
      else
        values[step] = {};
    }
    // 16-bit values are widened once, not per tap.
    float widened[Tile::large ? 1 : columns][vector];
    if constexpr (!Tile::large) {
#pragma unroll
      for (int step = 0; step < columns; ++step)
#pragma unroll
        for (int v = 0; v < vector; ++v) widened[step][v] = static_cast<float>(values[step][v]);
    }
#pragma unroll
    for (int d = 0; d < down; ++d) {
      const int past = below - d * Layer::stride_y, tap_y = past / Layer::dilation_y;
      if (past < 0 || past % Layer::dilation_y != 0 || tap_y >= Layer::kernel_y) continue;
#pragma unroll
      for (int tap_x = 0; tap_x < Layer::kernel_x; ++tap_x) {
        float weights[vector];
        if constexpr (Tile::large) {
#pragma unroll
          for (int v = 0; v < vector; ++v) weights[v] = held[tap_y][tap_x][v];
        } else {
          load_depthwise_weights(weights,
                                 own_weights + (tap_y * Layer::kernel_x + tap_x) * Layer::channels_out);
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
#pragma unroll
          for (int v = 0; v < vector; ++v) {
            const int step = i * Layer::stride_x + tap_x * Layer::dilation_x;
            const float value =
                Tile::large ? static_cast<float>(values[step][v]) : widened[Tile::large ? 0 : step][v];
            sums[d][i][v] += value * weights[v];
          }
      }
    }
  };
  if constexpr (Tile::large) {
#pragma unroll
    for (int below = 0; below < rows; ++below) add_row(below);
  } else {
    for (int below = 0; below < rows; ++below) add_row(below);
  }
#pragma unroll
  for (int d = 0; d < down; ++d)
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (out_x + i >= layer.out_width || out_y + d >= layer.out_height) continue;
      Pack<typename Layer::Out, vector> results;
#pragma unroll
      for (int v = 0; v < vector; ++v)
        results[v] = static_cast<typename Layer::Out>(
            epilogue(sums[d][i][v], n, channel + v, (out_y + d) * layer.out_width + out_x + i));
      if constexpr (Layer::out_last && vector > 1) {
        store<vector>(out + layer.out(n, channel, out_y + d, out_x + i), 0, results);
      } else {
#pragma unroll
        for (int v = 0; v < vector; ++v) out[layer.out(n, channel + v, out_y + d, out_x + i)] = results[v];
      }
    }
}
// `widest` channels at once where x and the result are aligned to that.
template <int widest, class Layer, class Epilogue>
StitchStatus enqueue_depthwise_last(const char* name, Layer layer, const typename Layer::In* x,
                                    const float* packed, typename Layer::Out* out, Epilogue epilogue,
                                    cudaStream_t stream) {
  auto run = [&](auto vector) {
    constexpr int channels = decltype(vector)::value;
    using Tile = DepthwiseLastTile<Layer, channels>;
    const Tile tile(layer);
    const int64_t blocks = int64_t{layer.batch} * Tile::chunks * tile.y_blocks * tile.x_blocks;
    return launch(name, depthwise_last_kernel<Layer, channels, Epilogue>, {blocks_of(blocks), Tile::threads},
                  stream, x, packed, out, epilogue, layer);
  };
  if constexpr (widest > 1)
    if (reinterpret_cast<uintptr_t>(x) % (widest * sizeof(typename Layer::In)) == 0 &&
        reinterpret_cast<uintptr_t>(out) % (widest * sizeof(typename Layer::Out)) == 0)
      return run(std::integral_constant<int, widest>{});
  return run(std::integral_constant<int, 1>{});
}

}  // namespace stitch
