// Depthwise convolutions: every output channel reads one input channel, so the bytes are all that counts.
// What is convolved stands in a struct, as in matmul.h:
//   struct DwLayer {  // y (2, 6, 9, 8) = x (2, 6, 9, 8) * weight (6, 1, 3, 3)
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int batch, channels_out, multiplier, height, width, out_height, out_width;
//     static constexpr int kernel_y, kernel_x, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
//     // A block's tile of NCHW images: `planes` of them, threads_x * along wide, threads_y * each high.
//     static constexpr int threads_x, threads_y, each, along, planes;
//     static constexpr bool out_last;    // packs of channels are packs of the result
//     static constexpr bool rows_first;  // NCHW: taps are added row by row, as PyTorch's kernel does
//     __device__ static Index x(Index n, Index c, Index y, Index x);  // also out
//   };
// The epilogue is asked for (value, sample, channel, pixel).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// NCHW: a block makes a tile of a plane, or of several small ones, from shared memory, a thread `each`
// outputs below each other, so that the rows between them are read once, `along` times: neighbours of a row
// belong to neighbouring threads.
template <class S>
struct DepthwiseTile {
  static constexpr int out_height = S::threads_y * S::each, out_width = S::threads_x * S::along;
  static constexpr int height = (out_height - 1) * S::stride_y + (S::kernel_y - 1) * S::dilation_y + 1;
  static constexpr int width = (out_width - 1) * S::stride_x + (S::kernel_x - 1) * S::dilation_x + 1;
  static constexpr int across = (S::out_width + out_width - 1) / out_width;
  static constexpr int down = (S::out_height + out_height - 1) / out_height;
  static constexpr int plane_threads = S::threads_x * S::threads_y, threads = plane_threads * S::planes;
  static constexpr int64_t all_planes = int64_t{S::batch} * S::channels_out;
};

template <class S, class Epilogue>
__global__ void __launch_bounds__(DepthwiseTile<S>::threads)
    depthwise_planes_kernel(const typename S::In* __restrict__ x,
                            const typename S::Weight* __restrict__ weight, typename S::Out* __restrict__ out,
                            Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = DepthwiseTile<S>;
  using Index = typename S::Index;
  constexpr int taps = S::kernel_y * S::kernel_x, pixels = Tile::height * Tile::width;
  __shared__ float image[S::planes][Tile::height][Tile::width];
  __shared__ float filter[S::planes][taps];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t block = blockIdx.x;
  const int out_x0 = static_cast<int>(block % Tile::across) * Tile::out_width;
  const int out_y0 = static_cast<int>(block / Tile::across % Tile::down) * Tile::out_height;
  const int64_t plane0 = block / Tile::across / Tile::down * S::planes;
  const int y0 = out_y0 * S::stride_y - S::pad_y, x0 = out_x0 * S::stride_x - S::pad_x;
  // A thread's pixels are on their way before it stores the first. Where a tile is of one plane, nothing is
  // divided for each of them: that took a third of the time of 3 x 3 filters (H200).
  constexpr int under_way = 5;
  for (int first = thread; first < S::planes * pixels; first += under_way * Tile::threads) {
    float values[under_way];
#pragma unroll
    for (int j = 0; j < under_way; ++j) {
      const int i = first + j * Tile::threads, at = S::planes == 1 ? i : i % pixels;
      const int64_t plane = S::planes == 1 ? plane0 : plane0 + i / pixels;
      const int row = y0 + at / Tile::width, column = x0 + at % Tile::width;
      const bool inside = row >= 0 && row < S::height && column >= 0 && column < S::width &&
                          i < S::planes * pixels && (S::planes == 1 || plane < Tile::all_planes);
      const Index channel = static_cast<Index>(plane % S::channels_out),
                  n = static_cast<Index>(plane / S::channels_out);
      values[j] = inside ? static_cast<float>(x[S::x(n, channel / S::multiplier, row, column)]) : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < under_way; ++j)
      if (first + j * Tile::threads < S::planes * pixels)
        (&image[0][0][0])[first + j * Tile::threads] = values[j];
  }
  for (int i = thread; i < S::planes * taps; i += Tile::threads) {
    const int64_t plane = plane0 + i / taps;
    (&filter[0][0])[i] = static_cast<float>(weight[plane % S::channels_out * taps + i % taps]);
  }
  __syncthreads();

  const int own_plane = thread / Tile::plane_threads, thread_x = thread % S::threads_x,
            thread_y = thread % Tile::plane_threads / S::threads_x;
  float sums[S::along][S::each] = {};
  constexpr int rows = (S::each - 1) * S::stride_y + (S::kernel_y - 1) * S::dilation_y + 1;
  auto add = [&](int tap_x, int row) {
#pragma unroll
    for (int j = 0; j < S::along; ++j) {
      const float value = image[own_plane][thread_y * S::each * S::stride_y + row]
                               [(thread_x + j * S::threads_x) * S::stride_x + tap_x * S::dilation_x];
#pragma unroll
      for (int i = 0; i < S::each; ++i) {
        const int below = row - i * S::stride_y;  // a constant once unrolled
        if (below >= 0 && below % S::dilation_y == 0 && below / S::dilation_y < S::kernel_y)
          sums[j][i] += value * filter[own_plane][below / S::dilation_y * S::kernel_x + tap_x];
      }
    }
  };
  if constexpr (S::rows_first) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int tap_x = 0; tap_x < S::kernel_x; ++tap_x) add(tap_x, row);
  } else {
#pragma unroll
    for (int tap_x = 0; tap_x < S::kernel_x; ++tap_x)
#pragma unroll
      for (int row = 0; row < rows; ++row) add(tap_x, row);
  }
  const int64_t plane = plane0 + own_plane;
  if (S::planes > 1 && plane >= Tile::all_planes) return;
  const Index channel = static_cast<Index>(plane % S::channels_out),
              n = static_cast<Index>(plane / S::channels_out);
#pragma unroll
  for (int j = 0; j < S::along; ++j)
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      const Index row = out_y0 + thread_y * S::each + i, column = out_x0 + thread_x + j * S::threads_x;
      if (row < S::out_height && column < S::out_width)
        out[S::out(n, channel, row, column)] =
            static_cast<typename S::Out>(epilogue(sums[j][i], n, channel, row * S::out_width + column));
    }
}
template <class S, class Epilogue>
StitchStatus enqueue_depthwise_planes(const char* name, const typename S::In* x,
                                      const typename S::Weight* weight, typename S::Out* out,
                                      Epilogue epilogue, cudaStream_t stream) {
  using Tile = DepthwiseTile<S>;
  constexpr int64_t blocks = (Tile::all_planes + S::planes - 1) / S::planes * Tile::across * Tile::down;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  return launch(name, depthwise_planes_kernel<S, Epilogue>, {static_cast<unsigned>(blocks), Tile::threads},
                stream, x, weight, out, epilogue);
}

// NHWC: a thread makes `each` outputs beside each other, `down` such rows, of `vector` channels. A block has
// a few packs of channels of a part of one image: what its threads read of the same pixels comes from L1.
// Large filters without strides multiply more than they read: two channels a thread, more outputs, and
// weights in registers. 5 x 5 filters with strides took 2.3 times as long that way (H200).
template <class S, int vector>
struct DepthwiseLastTile {
  static constexpr bool large = S::kernel_y * S::kernel_x >= 49 && S::stride_y == 1 && S::stride_x == 1;
  static constexpr int packs = S::channels_out / vector;

  static constexpr int64_t threads_of(int each, int down) {
    return int64_t{S::batch} * packs * ((S::out_width + each - 1) / each) *
           ((S::out_height + down - 1) / down);
  }
  // Multiplications and loads of all threads, outputs past the image's end included; fewer threads than a GPU
  // holds take no less time.
  static constexpr int64_t cost_of(int each, int down) {
    const int64_t columns = (each - 1) * S::stride_x + (S::kernel_x - 1) * S::dilation_x + 1,
                  rows = (down - 1) * S::stride_y + (S::kernel_y - 1) * S::dilation_y + 1,
                  taps = S::kernel_y * S::kernel_x, threads = threads_of(each, down);
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
  static constexpr int each = large ? best_each() : 4, across = (S::out_width + each - 1) / each;
  // Two rows share most of what they read; small images rather want many threads.
  static constexpr int down = large ? best_down() : threads_of(4, 2) >= (1 << 16) ? 2 : 1;
  static constexpr int strips = (S::out_height + down - 1) / down;

  // As many packs side by side as fill 128 bytes, or fewer where those leave no thread idle.
  static constexpr int lanes_of(int most) {
    for (int lanes = most; lanes > most / 2; --lanes)
      if (packs % lanes == 0) return lanes;
    return packs < most ? packs : most;
  }
  static constexpr int lanes = lanes_of(vector <= 2 ? 32 : 8);
  static constexpr int chunks = (packs + lanes - 1) / lanes;
  static constexpr int widest = large ? 4 : 8;
  static constexpr int x_blocks = (across + widest - 1) / widest, wide = (across + x_blocks - 1) / x_blocks;
  static constexpr int most_high = 256 / (lanes * wide) < 1 ? 1 : 256 / (lanes * wide);
  static constexpr int y_blocks = (strips + most_high - 1) / most_high,
                       high = (strips + y_blocks - 1) / y_blocks;
  static constexpr int used = lanes * wide * high, threads = (used + 31) / 32 * 32;
  static constexpr int64_t blocks = int64_t{S::batch} * chunks * y_blocks * x_blocks;
};

// Weights of `vector` channels at a tap: packed (taps, channels_out).
template <int vector>
__device__ void load_depthwise_weights(float (&weights)[vector], const float* __restrict__ packed) {
  constexpr int together = vector < 4 ? vector : 4;
#pragma unroll
  for (int v = 0; v < vector; v += together) {
    const auto pack = load<together>(packed + v, 0);
#pragma unroll
    for (int u = 0; u < together; ++u) weights[v + u] = pack[u];
  }
}

template <class S, int vector, class Epilogue>
__global__ void __launch_bounds__(DepthwiseLastTile<S, vector>::threads,
                                  DepthwiseLastTile<S, vector>::large ? 2 : 1)
    depthwise_last_kernel(const typename S::In* __restrict__ x, const float* __restrict__ packed,
                          typename S::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = DepthwiseLastTile<S, vector>;
  using Index = typename S::Index;
  constexpr int each = Tile::each, down = Tile::down;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int pack =
      block / Tile::x_blocks / Tile::y_blocks % Tile::chunks * Tile::lanes + thread % Tile::lanes;
  const int column0 = block % Tile::x_blocks * Tile::wide + thread / Tile::lanes % Tile::wide,
            strip = block / Tile::x_blocks % Tile::y_blocks * Tile::high + thread / Tile::lanes / Tile::wide;
  if (thread >= Tile::used || pack >= Tile::packs || column0 >= Tile::across || strip >= Tile::strips) return;
  const Index channel = static_cast<Index>(pack) * vector, out_x = static_cast<Index>(column0) * each,
              out_y = static_cast<Index>(strip) * down,
              n = static_cast<Index>(block / Tile::x_blocks / Tile::y_blocks / Tile::chunks);
  float sums[down][each][vector] = {};
  constexpr int columns = (each - 1) * S::stride_x + (S::kernel_x - 1) * S::dilation_x + 1;
  constexpr int rows = (down - 1) * S::stride_y + (S::kernel_y - 1) * S::dilation_y + 1;
  const float* own_weights = packed + channel;  // (taps, channels_out)
  // Large filters: all is unrolled, so that a row of weights stays in registers for the rows of outputs that
  // need it one after the other.
  float held[Tile::large ? S::kernel_y : 1][Tile::large ? S::kernel_x : 1][vector];
  auto add_row = [&](int below) {
    if (down == 1 && below % S::dilation_y != 0) return;  // no tap looks at it
    if constexpr (Tile::large)
      if (below % S::dilation_y == 0 && below / S::dilation_y < S::kernel_y) {
#pragma unroll
        for (int tap_x = 0; tap_x < S::kernel_x; ++tap_x)
          load_depthwise_weights(
              held[below / S::dilation_y][tap_x],
              own_weights + (below / S::dilation_y * S::kernel_x + tap_x) * S::channels_out);
      }
    const Index row = out_y * S::stride_y + below - S::pad_y;
    if (row < 0 || row >= S::height) return;
    // All that the outputs need of this row is on its way before the first is needed.
    Pack<typename S::In, vector> values[columns];
#pragma unroll
    for (int step = 0; step < columns; ++step) {
      const Index column = out_x * S::stride_x + step - S::pad_x;
      if (column >= 0 && column < S::width)
        values[step] = load<vector>(x + S::x(n, channel / S::multiplier, row, column), 0);
      else
        values[step] = {};
    }
    // Numbers of 16 bits are widened once, not for every tap that looks at them.
    float widened[Tile::large ? 1 : columns][vector];
    if constexpr (!Tile::large) {
#pragma unroll
      for (int step = 0; step < columns; ++step)
#pragma unroll
        for (int v = 0; v < vector; ++v) widened[step][v] = static_cast<float>(values[step][v]);
    }
#pragma unroll
    for (int d = 0; d < down; ++d) {
      const int past = below - d * S::stride_y, tap_y = past / S::dilation_y;
      if (past < 0 || past % S::dilation_y != 0 || tap_y >= S::kernel_y) continue;
#pragma unroll
      for (int tap_x = 0; tap_x < S::kernel_x; ++tap_x) {
        float weights[vector];
        if constexpr (Tile::large) {
#pragma unroll
          for (int v = 0; v < vector; ++v) weights[v] = held[tap_y][tap_x][v];
        } else {
          load_depthwise_weights(weights, own_weights + (tap_y * S::kernel_x + tap_x) * S::channels_out);
        }
#pragma unroll
        for (int i = 0; i < each; ++i)
#pragma unroll
          for (int v = 0; v < vector; ++v) {
            const int step = i * S::stride_x + tap_x * S::dilation_x;
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
      if (out_x + i >= S::out_width || out_y + d >= S::out_height) continue;
      Pack<typename S::Out, vector> results;
#pragma unroll
      for (int v = 0; v < vector; ++v)
        results[v] = static_cast<typename S::Out>(
            epilogue(sums[d][i][v], n, channel + v, (out_y + d) * S::out_width + out_x + i));
      if constexpr (S::out_last && vector > 1) {
        store<vector>(out + S::out(n, channel, out_y + d, out_x + i), 0, results);
      } else {
#pragma unroll
        for (int v = 0; v < vector; ++v) out[S::out(n, channel + v, out_y + d, out_x + i)] = results[v];
      }
    }
}
// `widest` channels at once where x and the result lie at as many bytes.
template <class S, int widest, class Epilogue>
StitchStatus enqueue_depthwise_last(const char* name, const typename S::In* x, const float* packed,
                                    typename S::Out* out, Epilogue epilogue, cudaStream_t stream) {
  auto run = [&](auto vector) {
    constexpr int channels = decltype(vector)::value;
    using Tile = DepthwiseLastTile<S, channels>;
    static_assert(Tile::blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
    return launch(name, depthwise_last_kernel<S, channels, Epilogue>,
                  {static_cast<unsigned>(Tile::blocks), Tile::threads}, stream, x, packed, out, epilogue);
  };
  if constexpr (widest > 1)
    if (reinterpret_cast<uintptr_t>(x) % (widest * sizeof(typename S::In)) == 0 &&
        reinterpret_cast<uintptr_t>(out) % (widest * sizeof(typename S::Out)) == 0)
      return run(std::integral_constant<int, widest>{});
  return run(std::integral_constant<int, 1>{});
}

}  // namespace stitch
