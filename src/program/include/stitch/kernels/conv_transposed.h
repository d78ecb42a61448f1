// Transposed convolutions in FP32 without multiplications by zero. Output o, tap t and input i belong
// together where o + padding = i · stride + t · dilation, so outputs with the same (o + padding) mod stride
// (a phase) use the same taps: each phase is a small dense convolution. Chosen for few channels and for
// groups, which are bound by the result's bytes and where cuDNN takes 10 to 80 times as long (H200).
//
// A cell is the outputs of all phases along x that begin at the same input. A block computes a tile of cells
// of one phase along z and y, for some filters: x and weights in shared memory, a chunk of channels at a
// time; a thread has `each` times four adjacent cells of `own` filters in registers, so that shared memory
// isn't the bottleneck. Results go through shared memory for coalesced stores. x is read about once per phase
// from L2, the result written once, finished.
//
// Described by a struct, as in matmul.h; channels and filters are those of a group:
//   struct UpLayer {  // y (2, 8, 9, 15) = x (2, 6, 5, 8) *ᵀ weight (6, 4, 3, 3), stride 2x2, 2 groups
//     using In = float; using Weight = float; using Out = float; using Index = int;
//     static constexpr int samples, groups, channels, filters;
//     static constexpr int size_in_z, size_out_z, kernel_z, stride_z, padding_z, dilation_z;  // y, x
//     static constexpr int cells_z, cells_y, cells_x;          // a block's tile
//     static constexpr int each, own;                          // a thread's groups of four cells, filters
//     static constexpr int cell_warps, filter_warps;           // of a block
//     static constexpr int chunk;                              // channels at a time
//     static constexpr Index x_apart;                          // stride between channels of x
//     __device__ static Index x(Index n, Index channel, Index z, Index y, Index x);  // of all groups
//     __device__ static Index weight(Index channel, Index filter, Index z, Index y, Index x);
//     __device__ static Index out(Index n, Index filter, Index z, Index y, Index x);
//     __device__ static Index position(Index n, Index filter, Index z, Index y, Index x);  // row-major
//   };
#pragma once

#include <numeric>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One axis. A tap reads `back` = t · dilation / stride inputs before the cell.
template <int kernel, int stride, int padding, int dilation>
struct TransposedAxis {
  static constexpr int common = std::gcd(stride, dilation);
  static constexpr int step = stride / common;               // between taps of a phase
  static constexpr int jump = dilation / common;             // and between their inputs
  static constexpr int most_taps = (kernel - 1) / step + 1;  // of phase 0
  static constexpr int reach = (most_taps - 1) * jump;

  // A phase: its taps, and its first output.
  struct Phase {
    int first, taps;
    int out;   // the first output
    int cell;  // and its cell's input
    __device__ explicit Phase(int phase) {
      first = 0;
      while (first < step && first * dilation % stride != phase) ++first;
      taps = first < step && first < kernel ? (kernel - 1 - first) / step + 1 : 0;
      out = (phase + stride - padding % stride) % stride;
      cell = (out + padding) / stride;
    }
    // How far back the last tap reads.
    __device__ int back() const { return first * dilation / stride + (taps - 1) * jump; }
  };
};

template <class Layer>
struct TransposedTile {
  using Z = TransposedAxis<Layer::kernel_z, Layer::stride_z, Layer::padding_z, Layer::dilation_z>;
  using Y = TransposedAxis<Layer::kernel_y, Layer::stride_y, Layer::padding_y, Layer::dilation_y>;
  static constexpr int phases = Layer::stride_z * Layer::stride_y;
  static constexpr int warps = Layer::cell_warps * Layer::filter_warps, threads = warps * 32;
  static constexpr int sums = Layer::each * 4 * Layer::stride_x * Layer::own;  // per thread
  static constexpr int blocks = (sums > 72 ? 384 : 512) / threads;             // per multiprocessor
  static constexpr int filters = Layer::own * Layer::filter_warps;             // per block
  static constexpr int filter_blocks = (Layer::filters + filters - 1) / filters;
  // Along x a cell holds all phases, from the first to the last with an output.
  static constexpr int back_x = (Layer::kernel_x - 1) * Layer::dilation_x / Layer::stride_x;
  static constexpr int first_x = Layer::padding_x / Layer::stride_x;
  static __host__ __device__ constexpr int divided_up(int count, int by) { return (count + by - 1) / by; }
  static constexpr int window = 4 + divided_up(back_x, 4) * 4;  // under four cells
  static constexpr int high = Layer::cells_z + Z::reach, rows = Layer::cells_y + Y::reach,
                       wide = Layer::cells_x - 4 + window;
  static constexpr int plane = high * rows * wide;  // per channel
  static constexpr int image = Layer::chunk * plane;
  static constexpr int tap_weights = Layer::kernel_x * filters;  // per channel and tap along z and y
  static_assert(Layer::own % 4 == 0 && Layer::cells_x % 4 == 0, "shared memory is read by fours");
  static constexpr int weights = Z::most_taps * Y::most_taps * Layer::chunk * tap_weights;
  // A warp's results of one filter, by 32, padded so that groups of four are in different banks.
  static constexpr int pitch = Layer::stride_x % 2 == 0 ? 36 : 32, line = 4 * Layer::stride_x * pitch;
  static constexpr int staged = 2 * line;
  static constexpr int shared = image + weights > warps* staged ? image + weights : warps* staged;
  static constexpr int64_t packed = int64_t{Layer::groups} * filter_blocks * Layer::kernel_z *
                                    Layer::kernel_y * Layer::channels * tap_weights;

  // Of one image.
  int tiles_z, tiles_y, tiles_x;
  __host__ __device__ explicit constexpr TransposedTile(Layer layer)
      : tiles_z(divided_up(divided_up(layer.size_out_z, Layer::stride_z), Layer::cells_z)),
        tiles_y(divided_up(divided_up(layer.size_out_y, Layer::stride_y), Layer::cells_y)),
        tiles_x(divided_up((layer.size_out_x - 1 + Layer::padding_x) / Layer::stride_x - first_x + 1,
                           Layer::cells_x)) {}
};

// packed (groups, filter blocks, kernel z, kernel y, channels, kernel x, filters of a block)
template <class Layer>
struct TransposedPacking {
  static constexpr int64_t count = TransposedTile<Layer>::packed;
  template <class Weight>
  __device__ static float element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = TransposedTile<Layer>;
    using Index = typename Layer::Index;
    auto next = [&](int extent) {
      const Index at = static_cast<Index>(i % extent);
      i /= extent;
      return at;
    };
    const Index own = next(Tile::filters), x = next(Layer::kernel_x), channel = next(Layer::channels);
    const Index y = next(Layer::kernel_y), z = next(Layer::kernel_z);
    const Index filter = next(Tile::filter_blocks) * Tile::filters + own, group = static_cast<Index>(i);
    return filter < Layer::filters
               ? static_cast<float>(weight[Layer::weight(group * Layer::channels + channel, filter, z, y, x)])
               : 0.0f;
  }
};
template <class Layer>
StitchStatus pack_transposed(const typename Layer::Weight* weight, float* packed, cudaStream_t stream) {
  return pack_weight<TransposedPacking<Layer>>("pack_transposed", weight, packed, stream);
}

// Whether a group has the filter.
template <class Layer>
__device__ __forceinline__ bool has_filter(int filter) {
  return Layer::filters % TransposedTile<Layer>::filters == 0 || filter < Layer::filters;
}

// A cell of the tile; past the end: the first one.
struct TransposedCell {
  int z, y, x;
  bool valid;
};
template <class Layer>
__device__ __forceinline__ TransposedCell cell_of(int number) {
  constexpr unsigned z = Layer::cells_z, y = Layer::cells_y, x = Layer::cells_x;
  const bool valid = number < static_cast<int>(z * y * x);
  const unsigned own =
      valid ? static_cast<unsigned>(number) : 0;  // unsigned division needs fewer instructions
  return {static_cast<int>(own / (y * x)), static_cast<int>(own / x % y), static_cast<int>(own % x), valid};
}

// Channels of a group of a sample.
struct TransposedChunk {
  int n, group, first, channels;
};
// The part of x under the tile and the weights of the phase's taps into shared memory.
template <class Layer, class PhaseZ, class PhaseY>
__device__ __forceinline__ void load_chunk(Layer layer, const typename Layer::In* __restrict__ x,
                                           const float* __restrict__ packed, float* image, float* weights,
                                           const TransposedChunk& chunk, int3 corner, const PhaseZ& phase_z,
                                           const PhaseY& phase_y) {
  using Tile = TransposedTile<Layer>;
  using Index = typename Layer::Index;
  const int high = Layer::cells_z + (phase_z.taps - 1) * Tile::Z::jump,
            rows = Layer::cells_y + (phase_y.taps - 1) * Tile::Y::jump;  // read by this phase
  for (unsigned i = threadIdx.x; i < Tile::plane; i += Tile::threads) {
    constexpr unsigned wide = Tile::wide, below_each = Tile::wide * Tile::rows;
    const int row = static_cast<int>(i % below_each / wide), below = static_cast<int>(i / below_each);
    const int at_z = corner.x + below, at_y = corner.y + row, at_x = corner.z + static_cast<int>(i % wide);
    const bool inside = row < rows && below < high && at_x >= 0 && at_x < layer.size_in_x && at_y >= 0 &&
                        at_y < layer.size_in_y && at_z >= 0 && at_z < layer.size_in_z;
    const Index from =
        inside ? layer.x(chunk.n, chunk.group * Layer::channels + chunk.first, at_z, at_y, at_x) : 0;
    const Index apart = layer.x_apart;
#pragma unroll 4
    for (int c = 0; c < chunk.channels; ++c)
      image[c * Tile::plane + static_cast<int>(i)] = inside ? static_cast<float>(x[from + c * apart]) : 0.0f;
  }
  for (int tap = 0; tap < phase_z.taps * phase_y.taps; ++tap) {
    const int z = phase_z.first + tap / phase_y.taps * Tile::Z::step,
              y = phase_y.first + tap % phase_y.taps * Tile::Y::step;
    const int64_t from =
        ((static_cast<int64_t>(blockIdx.y) * Layer::kernel_z + z) * Layer::kernel_y + y) * Layer::channels +
        chunk.first;
    for (int i = static_cast<int>(threadIdx.x); i < chunk.channels * Tile::tap_weights / 4;
         i += Tile::threads)
      store<4>(weights, tap * (Layer::chunk * Tile::tap_weights / 4) + i,
               load<4>(packed + from * Tile::tap_weights, i));
  }
}

// The epilogue and coalesced stores, through `stage` (2, line), the warp's own.
template <class Layer, class Sums, class PhaseZ, class PhaseY, class Epilogue>
__device__ __forceinline__ void store_transposed(Layer layer, const Sums& sums, float* stage,
                                                 typename Layer::Out* __restrict__ out,
                                                 const Epilogue& epilogue, const PhaseZ& phase_z,
                                                 const PhaseY& phase_y, int3 tile, typename Layer::Index n,
                                                 int group, int first_filter, int cell0) {
  using Tile = TransposedTile<Layer>;
  using Index = typename Layer::Index;
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int j = 0; j < Layer::each; ++j)
#pragma unroll
    for (int f = 0; f < Layer::own; f += 2) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4 * Layer::stride_x; i += 4) {
        const int own = lane * 4 * Layer::stride_x + i;
#pragma unroll
        for (int g = 0; g < 2; ++g)
          store<4>(stage + g * Tile::line + own / 32 * Tile::pitch + own % 32, 0,
                   *reinterpret_cast<const Pack<float, 4>*>(&sums[f + g][j][i]));
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4 * Layer::stride_x; ++i) {
        const int own = lane + 32 * i;
        const TransposedCell at =
            cell_of<Layer>((j * (Layer::cell_warps * 32) + cell0) * 4 + own / Layer::stride_x);
        const int out_z = phase_z.out + (tile.x + at.z) * Layer::stride_z;
        const int out_y = phase_y.out + (tile.y + at.y) * Layer::stride_y;
        const int out_x =
            (Tile::first_x + tile.z + at.x) * Layer::stride_x + own % Layer::stride_x - Layer::padding_x;
        if (!at.valid || out_z >= layer.size_out_z || out_y >= layer.size_out_y || out_x < 0 ||
            out_x >= layer.size_out_x)
          continue;
#pragma unroll
        for (int g = 0; g < 2; ++g) {
          if (!has_filter<Layer>(first_filter + f + g)) continue;
          const Index filter = group * Layer::filters + first_filter + f + g;
          out[layer.out(n, filter, out_z, out_y, out_x)] =
              static_cast<typename Layer::Out>(epilogue(stage[g * Tile::line + i * Tile::pitch + lane],
                                                        layer.position(n, filter, out_z, out_y, out_x)));
        }
      }
    }
}

template <class Layer, class Epilogue>
__global__ void __launch_bounds__(TransposedTile<Layer>::threads, TransposedTile<Layer>::blocks)
    conv_transposed_kernel(const typename Layer::In* __restrict__ x, const float* __restrict__ packed,
                           const float* __restrict__ bias, typename Layer::Out* __restrict__ out,
                           Epilogue epilogue, Layer layer) {
  wait_for_previous_kernel();
  using Tile = TransposedTile<Layer>;
  using Index = typename Layer::Index;
  extern __shared__ __align__(16) float transposed_shared[];
  float* image = transposed_shared;                  // (chunk, high, rows, wide)
  float* weights = transposed_shared + Tile::image;  // (taps along z, along y, chunk, kernel x, filters)
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int cell0 = warp / Layer::filter_warps * 32, filter0 = warp % Layer::filter_warps * Layer::own;

  const Tile tile(layer);
  int rest = static_cast<int>(blockIdx.x);
  const typename Tile::Y::Phase phase_y(rest % Layer::stride_y);
  const typename Tile::Z::Phase phase_z(rest / Layer::stride_y % Layer::stride_z);
  rest /= Tile::phases;
  const int tile_x = rest % tile.tiles_x * Layer::cells_x,
            tile_y = rest / tile.tiles_x % tile.tiles_y * Layer::cells_y;
  rest /= tile.tiles_x * tile.tiles_y;
  const int tile_z = rest % tile.tiles_z * Layer::cells_z;
  const Index n = rest / tile.tiles_z;
  const int group = static_cast<int>(blockIdx.y) / Tile::filter_blocks,
            block_filter = static_cast<int>(blockIdx.y) % Tile::filter_blocks * Tile::filters;
  const int3 corner = {phase_z.cell + tile_z - phase_z.back(), phase_y.cell + tile_y - phase_y.back(),
                       Tile::first_x + tile_x - Tile::back_x};  // z, y, x

  int places[Layer::each];
#pragma unroll
  for (int j = 0; j < Layer::each; ++j) {
    const TransposedCell at = cell_of<Layer>((j * (Layer::cell_warps * 32) + cell0 + lane) * 4);
    places[j] = (at.z * Tile::rows + at.y) * Tile::wide + at.x;
  }

  const int first_filter = block_filter + filter0;  // in the group
  alignas(16) float sums[Layer::own][Layer::each][4 * Layer::stride_x];
#pragma unroll
  for (int f = 0; f < Layer::own; ++f) {
    const float begin =
        bias && has_filter<Layer>(first_filter + f) ? bias[group * Layer::filters + first_filter + f] : 0.0f;
#pragma unroll
    for (int j = 0; j < Layer::each; ++j)
#pragma unroll
      for (int r = 0; r < 4 * Layer::stride_x; ++r) sums[f][j][r] = begin;
  }
  const int taps = phase_z.taps * phase_y.taps;
  for (int first = 0; first < Layer::channels && taps > 0; first += Layer::chunk) {
    const int channels = Layer::channels - first < Layer::chunk ? Layer::channels - first : Layer::chunk;
    if (first > 0) __syncthreads();  // the previous chunk may still be read
    load_chunk(layer, x, packed, image, weights, {n, group, first, channels}, corner, phase_z, phase_y);
    __syncthreads();
    for (int tap = 0; tap < taps; ++tap) {
      const int below = (phase_z.taps - 1 - tap / phase_y.taps) * Tile::Z::jump,
                row = (phase_y.taps - 1 - tap % phase_y.taps) * Tile::Y::jump;
      const float* pixels = image + (below * Tile::rows + row) * Tile::wide;
      const float* of_tap = weights + tap * (Layer::chunk * Tile::tap_weights) + filter0;
      for (int c = 0; c < channels; ++c, pixels += Tile::plane, of_tap += Tile::tap_weights) {
        alignas(16) float values[Layer::each][Tile::window];
#pragma unroll
        for (int j = 0; j < Layer::each; ++j)
#pragma unroll
          for (int i = 0; i < Tile::window; i += 4)
            *reinterpret_cast<Pack<float, 4>*>(&values[j][i]) = load<4>(pixels + places[j] + i, 0);
#pragma unroll
        for (int k = 0; k < Layer::kernel_x; ++k) {
          const int behind = Tile::back_x - k * Layer::dilation_x / Layer::stride_x,
                    r = k * Layer::dilation_x % Layer::stride_x;
#pragma unroll
          for (int f = 0; f < Layer::own; f += 4) {
            const Pack<float, 4> weight = load<4>(of_tap + k * Tile::filters + f, 0);
#pragma unroll
            for (int g = 0; g < 4; ++g)
#pragma unroll
              for (int j = 0; j < Layer::each; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                  sums[f + g][j][i * Layer::stride_x + r] += values[j][i + behind] * weight[g];
          }
        }
      }
    }
  }

  __syncthreads();  // the image's memory is reused
  store_transposed(layer, sums, transposed_shared + warp * Tile::staged, out, epilogue, phase_z, phase_y,
                   {tile_z, tile_y, tile_x}, n, group, first_filter, cell0);
}
template <class Layer, class Epilogue>
StitchStatus enqueue_conv_transposed(const char* name, Layer layer, const typename Layer::In* x,
                                     const float* packed, const float* bias, typename Layer::Out* out,
                                     Epilogue epilogue, cudaStream_t stream) {
  using Tile = TransposedTile<Layer>;
  const Tile tile(layer);
  const int64_t blocks = int64_t{layer.samples} * tile.tiles_z * tile.tiles_y * tile.tiles_x * Tile::phases;
  return launch(name, conv_transposed_kernel<Layer, Epilogue>,
                {dim3(blocks_of(blocks), static_cast<unsigned>(Layer::groups * Tile::filter_blocks)),
                 Tile::threads, Tile::shared * sizeof(float)},
                stream, x, packed, bias, out, epilogue, layer);
}

}  // namespace stitch
