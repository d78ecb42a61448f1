// Transposed convolutions in FP32, without products that are zero. Output o, tap t and input i belong
// together where o + padding = i · stride + t · dilation, so outputs of the same (o + padding) mod stride, a
// phase, see the same taps: each phase is a small dense convolution. Chosen for few channels and for groups,
// where the result's bytes count and cuDNN is 10 to 80 times above them (H200).
//
// A cell is the outputs of all phases along x that begin at the same input. A block makes a tile of cells of
// one phase along z and y, for some filters: x and weights in shared memory, a chunk of channels at a time; a
// thread has `each` times four neighbouring cells of `own` filters in registers, so that shared memory is
// read less than the FMAs take. A warp's results go through shared memory once more to leave in whole rows. x
// is read about once a phase from L2, the result written once, finished.
//
// What is convolved stands in a struct, as in matmul.h; channels and filters are those of a group:
//   struct UpLayer {  // y (2, 8, 9, 15) = x (2, 6, 5, 8) *ᵀ weight (6, 4, 3, 3), stride 2x2, 2 groups
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int samples, groups, channels, filters;
//     static constexpr int size_in_z, size_out_z, kernel_z, stride_z, padding_z, dilation_z;  // y, x
//     static constexpr int cells_z, cells_y, cells_x;            // a block's tile
//     static constexpr int each, own, cell_warps, filter_warps;  // fours of cells, filters: a thread's, a
//     block's static constexpr int chunk;                                // channels at a time static
//     constexpr Index x_apart;                            // from a channel of x to the next
//     __device__ static Index x(Index n, Index channel, Index z, Index y, Index x);  // of all groups
//     __device__ static Index weight(Index channel, Index filter, Index z, Index y, Index x);
//     __device__ static Index out(Index n, Index filter, Index z, Index y, Index x);
//     __device__ static Index position(Index n, Index filter, Index z, Index y, Index x);  // row-major
//   };
#pragma once

#include <numeric>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One axis. A tap looks `back` = t · dilation / stride inputs back from the cell.
template <int kernel, int stride, int padding, int dilation>
struct TransposedAxis {
  static constexpr int common = std::gcd(stride, dilation);
  static constexpr int step = stride / common;               // from a tap of a phase to its next,
  static constexpr int jump = dilation / common;             // which looks so much further back
  static constexpr int most_taps = (kernel - 1) / step + 1;  // phase 0 has them
  static constexpr int reach = (most_taps - 1) * jump;

  // A phase: its taps, and its first output.
  struct Phase {
    int first, taps;
    int out;   // the first output,
    int cell;  // and the input that its cell begins at
    __device__ explicit Phase(int phase) {
      first = 0;
      while (first < step && first * dilation % stride != phase) ++first;
      taps = first < step && first < kernel ? (kernel - 1 - first) / step + 1 : 0;
      out = (phase + stride - padding % stride) % stride;
      cell = (out + padding) / stride;
    }
    // How far the last tap looks back.
    __device__ int back() const { return first * dilation / stride + (taps - 1) * jump; }
  };
};

template <class S>
struct TransposedTile {
  using Z = TransposedAxis<S::kernel_z, S::stride_z, S::padding_z, S::dilation_z>;
  using Y = TransposedAxis<S::kernel_y, S::stride_y, S::padding_y, S::dilation_y>;
  static constexpr int phases = S::stride_z * S::stride_y;
  static constexpr int warps = S::cell_warps * S::filter_warps, threads = warps * 32;
  static constexpr int sums = S::each * 4 * S::stride_x * S::own;   // of a thread
  static constexpr int blocks = (sums > 72 ? 384 : 512) / threads;  // of a multiprocessor
  static constexpr int filters = S::own * S::filter_warps;          // of a block
  static constexpr int filter_blocks = (S::filters + filters - 1) / filters;
  // Along x all phases are in a cell, from the first to the last that has an output.
  static constexpr int back_x = (S::kernel_x - 1) * S::dilation_x / S::stride_x;
  static constexpr int first_x = S::padding_x / S::stride_x,
                       all_x = (S::size_out_x - 1 + S::padding_x) / S::stride_x - first_x + 1;
  static constexpr int divided_up(int count, int by) { return (count + by - 1) / by; }
  static constexpr int tiles_x = divided_up(all_x, S::cells_x),
                       tiles_y = divided_up(divided_up(S::size_out_y, S::stride_y), S::cells_y),
                       tiles_z = divided_up(divided_up(S::size_out_z, S::stride_z), S::cells_z);
  // x under a tile.
  static constexpr int window = 4 + divided_up(back_x, 4) * 4;  // under four cells
  static constexpr int high = S::cells_z + Z::reach, rows = S::cells_y + Y::reach,
                       wide = S::cells_x - 4 + window;
  static constexpr int plane = high * rows * wide;  // of a channel
  static constexpr int image = S::chunk * plane;
  static constexpr int tap_weights = S::kernel_x * filters;  // of a channel and a tap along z and y
  static_assert(S::own % 4 == 0 && S::cells_x % 4 == 0, "shared memory is read by fours");
  static constexpr int weights = Z::most_taps * Y::most_taps * S::chunk * tap_weights;
  // A warp's results of one filter, by 32, with gaps that put the fours of neighbours into different banks.
  static constexpr int pitch = S::stride_x % 2 == 0 ? 36 : 32, line = 4 * S::stride_x * pitch;
  static constexpr int staged = 2 * line;
  static constexpr int shared = image + weights > warps* staged ? image + weights : warps* staged;
  static constexpr int64_t packed =
      int64_t{S::groups} * filter_blocks * S::kernel_z * S::kernel_y * S::channels * tap_weights;
};

// packed (groups, filter blocks, kernel z, kernel y, channels, kernel x, filters of a block)
template <class S>
__global__ void __launch_bounds__(256)
    pack_transposed_kernel(const typename S::Weight* __restrict__ weight, float* __restrict__ packed) {
  wait_for_previous_kernel();
  using T = TransposedTile<S>;
  using Index = typename S::Index;
  int64_t rest = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (rest >= T::packed) return;
  float* to = packed + rest;
  auto next = [&](int extent) {
    const Index at = static_cast<Index>(rest % extent);
    rest /= extent;
    return at;
  };
  const Index own = next(T::filters), x = next(S::kernel_x), channel = next(S::channels);
  const Index y = next(S::kernel_y), z = next(S::kernel_z);
  const Index filter = next(T::filter_blocks) * T::filters + own, group = static_cast<Index>(rest);
  *to = filter < S::filters
            ? static_cast<float>(weight[S::weight(group * S::channels + channel, filter, z, y, x)])
            : 0.0f;
}
template <class S>
StitchStatus pack_transposed(const typename S::Weight* weight, float* packed, cudaStream_t stream) {
  return launch("pack_transposed", pack_transposed_kernel<S>,
                {static_cast<unsigned>(divide_up(TransposedTile<S>::packed, 256)), 256}, stream, weight,
                packed);
}

template <class S, class Epilogue>
__global__ void __launch_bounds__(TransposedTile<S>::threads, TransposedTile<S>::blocks)
    conv_transposed_kernel(const typename S::In* __restrict__ x, const float* __restrict__ packed,
                           const float* __restrict__ bias, typename S::Out* __restrict__ out,
                           Epilogue epilogue) {
  wait_for_previous_kernel();
  using T = TransposedTile<S>;
  using Index = typename S::Index;
  extern __shared__ __align__(16) float transposed_shared[];
  float* image = transposed_shared;               // (chunk, high, rows, wide)
  float* weights = transposed_shared + T::image;  // (taps along z, along y, chunk, kernel x, filters)
  const int thread = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.x % 32),
            warp = static_cast<int>(threadIdx.x / 32);
  const int cell0 = warp / S::filter_warps * 32, filter0 = warp % S::filter_warps * S::own;

  int rest = static_cast<int>(blockIdx.x);
  const typename T::Y::Phase phase_y(rest % S::stride_y);
  const typename T::Z::Phase phase_z(rest / S::stride_y % S::stride_z);
  rest /= T::phases;
  const int tile_x = rest % T::tiles_x * S::cells_x, tile_y = rest / T::tiles_x % T::tiles_y * S::cells_y;
  rest /= T::tiles_x * T::tiles_y;
  const int tile_z = rest % T::tiles_z * S::cells_z;
  const Index n = rest / T::tiles_z;
  const int group = static_cast<int>(blockIdx.y) / T::filter_blocks,
            block_filter = static_cast<int>(blockIdx.y) % T::filter_blocks * T::filters;
  const int x0 = T::first_x + tile_x - T::back_x;
  const int y0 = phase_y.cell + tile_y - phase_y.back(), z0 = phase_z.cell + tile_z - phase_z.back();

  struct Cell {
    int z, y, x;
    bool there;
  };
  // Where there are no more, the first one.
  auto cell = [](int number) {
    constexpr unsigned z = S::cells_z, y = S::cells_y, x = S::cells_x;
    const bool there = number < static_cast<int>(z * y * x);
    const unsigned own = there ? static_cast<unsigned>(number) : 0;  // divides in fewer instructions
    return Cell{static_cast<int>(own / (y * x)), static_cast<int>(own / x % y), static_cast<int>(own % x),
                there};
  };
  int places[S::each];
#pragma unroll
  for (int j = 0; j < S::each; ++j) {
    const Cell at = cell((j * (S::cell_warps * 32) + cell0 + lane) * 4);
    places[j] = (at.z * T::rows + at.y) * T::wide + at.x;
  }

  const int first_filter = block_filter + filter0;  // of the group
  auto there = [&](int f) { return S::filters % T::filters == 0 || first_filter + f < S::filters; };
  alignas(16) float sums[S::own][S::each][4 * S::stride_x];
#pragma unroll
  for (int f = 0; f < S::own; ++f) {
    const float begin = bias && there(f) ? bias[group * S::filters + first_filter + f] : 0.0f;
#pragma unroll
    for (int j = 0; j < S::each; ++j)
#pragma unroll
      for (int r = 0; r < 4 * S::stride_x; ++r) sums[f][j][r] = begin;
  }
  const int taps = phase_z.taps * phase_y.taps;
  const int high = S::cells_z + (phase_z.taps - 1) * T::Z::jump,
            rows = S::cells_y + (phase_y.taps - 1) * T::Y::jump;  // what this phase looks at
  for (int first = 0; first < S::channels && taps > 0; first += S::chunk) {
    const int channels = S::channels - first < S::chunk ? S::channels - first : S::chunk;
    if (first > 0) __syncthreads();  // the chunk before this one may still be read
    for (unsigned i = threadIdx.x; i < T::plane; i += T::threads) {
      constexpr unsigned wide = T::wide, below_each = T::wide * T::rows;
      const int row = static_cast<int>(i % below_each / wide), below = static_cast<int>(i / below_each);
      const int at_x = x0 + static_cast<int>(i % wide), at_y = y0 + row, at_z = z0 + below;
      const bool inside = row < rows && below < high && at_x >= 0 && at_x < S::size_in_x && at_y >= 0 &&
                          at_y < S::size_in_y && at_z >= 0 && at_z < S::size_in_z;
      const Index from = inside ? S::x(n, group * S::channels + first, at_z, at_y, at_x) : 0;
      constexpr Index apart = S::x_apart;
#pragma unroll 4
      for (int c = 0; c < channels; ++c)
        image[c * T::plane + static_cast<int>(i)] = inside ? static_cast<float>(x[from + c * apart]) : 0.0f;
    }
    for (int tap = 0; tap < taps; ++tap) {
      const int z = phase_z.first + tap / phase_y.taps * T::Z::step,
                y = phase_y.first + tap % phase_y.taps * T::Y::step;
      const int64_t from =
          ((static_cast<int64_t>(blockIdx.y) * S::kernel_z + z) * S::kernel_y + y) * S::channels + first;
      for (int i = thread; i < channels * T::tap_weights / 4; i += T::threads)
        store<4>(weights, tap * (S::chunk * T::tap_weights / 4) + i,
                 load<4>(packed + from * T::tap_weights, i));
    }
    __syncthreads();
    for (int tap = 0; tap < taps; ++tap) {
      const int below = (phase_z.taps - 1 - tap / phase_y.taps) * T::Z::jump,
                row = (phase_y.taps - 1 - tap % phase_y.taps) * T::Y::jump;
      const float* beside = image + (below * T::rows + row) * T::wide;
      const float* of_tap = weights + tap * (S::chunk * T::tap_weights) + filter0;
      for (int c = 0; c < channels; ++c, beside += T::plane, of_tap += T::tap_weights) {
        alignas(16) float values[S::each][T::window];
#pragma unroll
        for (int j = 0; j < S::each; ++j)
#pragma unroll
          for (int i = 0; i < T::window; i += 4)
            *reinterpret_cast<Pack<float, 4>*>(&values[j][i]) = load<4>(beside + places[j] + i, 0);
#pragma unroll
        for (int k = 0; k < S::kernel_x; ++k) {
          const int behind = T::back_x - k * S::dilation_x / S::stride_x, r = k * S::dilation_x % S::stride_x;
#pragma unroll
          for (int f = 0; f < S::own; f += 4) {
            const Pack<float, 4> weight = load<4>(of_tap + k * T::filters + f, 0);
#pragma unroll
            for (int g = 0; g < 4; ++g)
#pragma unroll
              for (int j = 0; j < S::each; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                  sums[f + g][j][i * S::stride_x + r] += values[j][i + behind] * weight[g];
          }
        }
      }
    }
  }

  __syncthreads();                                      // the image makes way
  float* stage = transposed_shared + warp * T::staged;  // (2, line)
#pragma unroll
  for (int j = 0; j < S::each; ++j)
#pragma unroll
    for (int f = 0; f < S::own; f += 2) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4 * S::stride_x; i += 4) {
        const int own = lane * 4 * S::stride_x + i;
#pragma unroll
        for (int g = 0; g < 2; ++g)
          store<4>(stage + g * T::line + own / 32 * T::pitch + own % 32, 0,
                   *reinterpret_cast<const Pack<float, 4>*>(&sums[f + g][j][i]));
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4 * S::stride_x; ++i) {
        const int own = lane + 32 * i;
        const Cell at = cell((j * (S::cell_warps * 32) + cell0) * 4 + own / S::stride_x);
        const int out_z = phase_z.out + (tile_z + at.z) * S::stride_z;
        const int out_y = phase_y.out + (tile_y + at.y) * S::stride_y;
        const int out_x = (T::first_x + tile_x + at.x) * S::stride_x + own % S::stride_x - S::padding_x;
        if (!at.there || out_z >= S::size_out_z || out_y >= S::size_out_y || out_x < 0 ||
            out_x >= S::size_out_x)
          continue;
#pragma unroll
        for (int g = 0; g < 2; ++g) {
          if (!there(f + g)) continue;
          const Index filter = group * S::filters + first_filter + f + g;
          out[S::out(n, filter, out_z, out_y, out_x)] = static_cast<typename S::Out>(epilogue(
              stage[g * T::line + i * T::pitch + lane], S::position(n, filter, out_z, out_y, out_x)));
        }
      }
    }
}
template <class S, class Epilogue>
StitchStatus enqueue_conv_transposed(const char* name, const typename S::In* x, const float* packed,
                                     const float* bias, typename S::Out* out, Epilogue epilogue,
                                     cudaStream_t stream) {
  using T = TransposedTile<S>;
  constexpr int64_t blocks = int64_t{S::samples} * T::tiles_z * T::tiles_y * T::tiles_x * T::phases;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  return launch(name, conv_transposed_kernel<S, Epilogue>,
                {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(S::groups * T::filter_blocks)),
                 T::threads, T::shared * sizeof(float)},
                stream, x, packed, bias, out, epilogue);
}

}  // namespace stitch
