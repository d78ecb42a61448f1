// Convolutions with kernels of one pixel over images channels last, for channels that libraries pad: those
// that aren't multiples of eight. Over all pixels of all samples
//   out (pixels, filters) = x (pixels, channels) · weight (filters, channels)'
// on tensor cores in fp16 or bf16 with FP32 sums. A warp makes 16 pixels of up to 64 filters, from memory to
// registers and back, by itself: lanes read pairs of channels where the instruction wants them, zeros past
// the last one, and weights come from L1, in the order in which lanes take them. Nothing is moved but x and
// the result, and the epilogue happens on the way.
//   struct ConvRows {
//     static constexpr int64_t pixels = 12544, plane = 784;  // of all samples, and of one
//     static constexpr int channels = 58, filters = 58;
//   };
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class G>
struct OddTile {
  static constexpr int pixels = 16, warps = 4, threads = warps * 32;
  static constexpr int most_filter_tiles = 8;  // 32 sums a lane

  static constexpr int all_filter_tiles = (G::filters + 7) / 8;
  static constexpr int slices = (all_filter_tiles + most_filter_tiles - 1) / most_filter_tiles;
  static constexpr int filter_tiles = (all_filter_tiles + slices - 1) / slices;
  static constexpr int steps = (G::channels + 15) / 16;
  static constexpr int rounds = (steps + 7) / 8;
  static constexpr int held = (steps + rounds - 1) / rounds;  // steps whose loads are under way together
  static constexpr int64_t units = (G::pixels + pixels - 1) / pixels;  // of a slice, a warp each

  // Operands as lanes hold them: (slices, steps, filter tiles, lanes, 4).
  static constexpr int64_t packed = int64_t{slices} * steps * filter_tiles * 128;
};

template <class P, class G, class T>
__global__ void __launch_bounds__(256)
    pack_odd_kernel(const typename P::Left* __restrict__ weight, T* __restrict__ packed) {
  wait_for_previous_kernel();
  using Tile = OddTile<G>;
  using Index = typename P::Index;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= Tile::packed) return;
  const int part = static_cast<int>(i / 2 % 2), lane = static_cast<int>(i / 4 % 32);  // as in MmaRight
  const int64_t tile = i / 128;
  const int step = static_cast<int>(tile / Tile::filter_tiles % Tile::steps),
            slice = static_cast<int>(tile / Tile::filter_tiles / Tile::steps);
  const int filter =
                (slice * Tile::filter_tiles + static_cast<int>(tile % Tile::filter_tiles)) * 8 + lane / 4,
            channel = step * 16 + part * 8 + lane % 4 * 2 + static_cast<int>(i % 2);
  const bool inside = filter < G::filters && channel < G::channels;
  packed[i] = inside
                  ? T(static_cast<float>(
                        weight[P::left(Index{0}, static_cast<Index>(filter), static_cast<Index>(channel))]))
                  : T(0.0f);
}
template <class P, class G, class T>
StitchStatus pack_odd(const typename P::Left* weight, T* packed, cudaStream_t stream) {
  return launch("pack_odd", pack_odd_kernel<P, G, T>,
                {static_cast<unsigned>(divide_up(OddTile<G>::packed, 256)), 256}, stream, weight, packed);
}

// Two neighbouring channels of a pixel, of which the second may be past the last.
template <class T, bool pairs, class Stored>
__device__ __forceinline__ uint32_t load_channels(const Stored* __restrict__ pixel, int channel,
                                                  int channels) {
  if (channel >= channels) return 0;
  if constexpr (pairs && std::is_same_v<T, Stored>) {
    return *reinterpret_cast<const uint32_t*>(pixel + channel);
  } else {
    const float first = static_cast<float>(pixel[channel]),
                second = channel + 1 < channels ? static_cast<float>(pixel[channel + 1]) : 0.0f;
    return std::is_same_v<T, __half> ? half_pair(first, second) : bfloat_pair(first, second);
  }
}

// `pairs`: of channels and of filters lie at multiples of their size.
template <class P, class G, class T, bool pairs, class Epilogue>
__global__ void __launch_bounds__(OddTile<G>::threads)
    odd_kernel(const typename P::Right* __restrict__ x, const T* __restrict__ packed,
               typename P::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = OddTile<G>;
  using Index = typename P::Index;
  constexpr int filter_tiles = Tile::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), row = lane / 4, pair = lane % 4;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices);
  const int64_t unit =
      static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::warps + static_cast<int>(threadIdx.x / 32);
  if (unit >= Tile::units) return;
  const int64_t first = unit * Tile::pixels + row, second = first + 8;
  // Rows past the last look at the last.
  const auto* upper = x + (first < G::pixels ? first : G::pixels - 1) * G::channels;
  const auto* lower = x + (second < G::pixels ? second : G::pixels - 1) * G::channels;
  const auto* weights = reinterpret_cast<const Pack<uint32_t, 2>*>(packed) +
                        int64_t{slice} * Tile::steps * filter_tiles * 32 + lane;

  float sums[filter_tiles][4] = {};
#pragma unroll 1
  for (int round = 0; round < Tile::rounds; ++round) {
    MmaLeft left[Tile::held];
#pragma unroll
    for (int s = 0; s < Tile::held; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int channel = (round * Tile::held + s) * 16 + half * 8 + pair * 2;
        left[s].parts[2 * half] = load_channels<T, pairs>(upper, channel, G::channels);
        left[s].parts[2 * half + 1] = load_channels<T, pairs>(lower, channel, G::channels);
      }
#pragma unroll
    for (int s = 0; s < Tile::held; ++s) {
      const int step = round * Tile::held + s;
      if (Tile::steps % Tile::held != 0 && step >= Tile::steps) break;
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f) {
        const Pack<uint32_t, 2> right = weights[(step * filter_tiles + f) * 32];
        const MmaRight operand = {{right[0], right[1]}};
        if constexpr (std::is_same_v<T, __half>)
          mma(sums[f], left[s], operand);
        else
          mma_bfloat(sums[f], left[s], operand);
      }
    }
  }

#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t pixel = h == 0 ? first : second;
    if (pixel >= G::pixels) break;
    // Epilogues count as the graph does, channels first.
    const int64_t sample = pixel / G::plane, within = pixel % G::plane;
#pragma unroll
    for (int f = 0; f < filter_tiles; ++f) {
      const int filter = (slice * filter_tiles + f) * 8 + pair * 2;
      Pack<typename P::Out, 2> made;
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (filter + e < G::filters)
          made[e] = static_cast<typename P::Out>(
              epilogue(sums[f][2 * h + e],
                       static_cast<Index>((sample * G::filters + filter + e) * G::plane + within)));
      auto* to = out + pixel * G::filters + filter;
      if constexpr (pairs) {
        if (filter < G::filters) *reinterpret_cast<Pack<typename P::Out, 2>*>(to) = made;
      } else {
        if (filter < G::filters) to[0] = made[0];
        if (filter + 1 < G::filters) to[1] = made[1];
      }
    }
  }
}

template <class P, class G, class T, class Epilogue>
StitchStatus enqueue_odd(const char* name, const typename P::Right* x, const T* packed, typename P::Out* out,
                         Epilogue epilogue, cudaStream_t stream) {
  using Tile = OddTile<G>;
  const Geometry geometry{static_cast<unsigned>(divide_up(Tile::units, Tile::warps) * Tile::slices),
                          Tile::threads};
  if constexpr (G::channels % 2 == 0 && G::filters % 2 == 0)
    if (is_aligned(x, 2 * sizeof(*x)) && is_aligned(out, 2 * sizeof(*out)))
      return launch(name, odd_kernel<P, G, T, true, Epilogue>, geometry, stream, x, packed, out, epilogue);
  return launch(name, odd_kernel<P, G, T, false, Epilogue>, geometry, stream, x, packed, out, epilogue);
}

}  // namespace stitch
