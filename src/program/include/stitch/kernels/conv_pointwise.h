// Convolutions with kernels of one pixel over images channels first, as products on tensor cores in TF32. For
// every sample and group
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// A warp makes 32 pixels of up to 128 filters, from memory to registers and back, by itself. A lane reads
// four neighbouring pixels of a channel, a column of each of four operands. Columns may stand in any order,
// and here they do so that a lane's sums are four neighbouring pixels again, and those of a row's lanes 64
// bytes. Weights come from L1, in the order in which lanes take them. Nothing is moved but x and the result,
// 4 · (channels + filters) bytes a pixel, and the epilogue happens on the way. `exact`: FP32's accuracy from
// three products, of numbers that are the sum of two of TF32:
//   w · x = w_high · x_high + w_high · x_low + w_low · x_high
//   struct ConvPlanes {  // of one group
//     static constexpr int samples = 16, groups = 1, channels = 64, filters = 128;
//     static constexpr int64_t pixels = 262144;
//     static constexpr bool x_in_quads = true, out_in_quads = true;  // pixels, four at a time
//     static constexpr bool out_in_planes = true;                    // as x lies
//     static constexpr bool together = false;  // warps keep step: L1 needs the weights of a round only
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class G, bool exact>
struct PointwiseTile {
  static constexpr int pixels = 32;
  static constexpr int most_filter_tiles = 8;  // 128 sums a lane

  static constexpr int all_filter_tiles = (G::filters + 15) / 16;
  static constexpr int slices = (all_filter_tiles + most_filter_tiles - 1) / most_filter_tiles;
  static constexpr int filter_tiles = (all_filter_tiles + slices - 1) / slices;
  static constexpr int steps = (G::channels + 7) / 8;
  static constexpr int rounds = (steps + 3) / 4;
  static constexpr int held = (steps + rounds - 1) / rounds;  // steps read ahead: up to 4 KB a warp

  // As many warps on a multiprocessor as their sums and what is held leave registers for.
  static constexpr int resident = filter_tiles > 5 ? 8 : filter_tiles > 2 ? 12 : 16;
  static constexpr int warps = G::together ? resident : 4, threads = warps * 32, blocks = resident / warps;

  static constexpr int64_t tiles = (G::pixels + pixels - 1) / pixels;
  static constexpr int64_t units = int64_t{G::samples} * G::groups * tiles;  // of a slice, a warp each

  // Operands as lanes hold them: (groups, slices, steps, filter tiles, parts, lanes, 4).
  static constexpr int parts = exact ? 2 : 1;
  static constexpr int64_t slice_packed = int64_t{steps} * filter_tiles * parts * 128;
  static constexpr int64_t packed = int64_t{G::groups} * slices * slice_packed;
};

template <class P, class G, bool exact>
__global__ void __launch_bounds__(256)
    pack_pointwise_kernel(const typename P::Left* __restrict__ weight, float* __restrict__ packed) {
  wait_for_previous_kernel();
  using Tile = PointwiseTile<G, exact>;
  using Index = typename P::Index;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= Tile::packed) return;
  const int part = static_cast<int>(i % 4), lane = static_cast<int>(i / 4 % 32);  // as in MmaLeft
  const bool low = exact && i / 128 % 2;
  const int64_t tile = i / 128 / Tile::parts;
  const int step = static_cast<int>(tile / Tile::filter_tiles % Tile::steps);
  const int64_t slice = tile / Tile::filter_tiles / Tile::steps;
  const int row =
      static_cast<int>(slice % Tile::slices * Tile::filter_tiles + tile % Tile::filter_tiles) * 16 +
      lane / 4 + part % 2 * 8;
  const int k = step * 8 + lane % 4 + part / 2 * 4;
  float value = 0.0f;
  if (row < G::filters && k < G::channels)
    value = static_cast<float>(weight[P::left(static_cast<Index>(slice / Tile::slices),
                                              static_cast<Index>(row), static_cast<Index>(k))]);
  const float high = __uint_as_float(tf32_bits(value));
  packed[i] = low ? __uint_as_float(tf32_bits(value - high)) : high;
}
template <class P, class G, bool exact>
StitchStatus pack_pointwise(const typename P::Left* weight, float* packed, cudaStream_t stream) {
  return launch("pack_pointwise", pack_pointwise_kernel<P, G, exact>,
                {static_cast<unsigned>(divide_up(PointwiseTile<G, exact>::packed, 256)), 256}, stream, weight,
                packed);
}

// Four pixels of a channel; zeros outside.
template <class P, class G, class Tile, bool vectors>
__device__ __forceinline__ Pack<float, 4> load_pixels(const typename P::Right* __restrict__ x, int group,
                                                      int sample, int channel, int64_t pixel) {
  using Index = typename P::Index;
  Pack<float, 4> out = {};
  if (G::channels % 8 != 0 && channel >= G::channels) return out;
  if constexpr (vectors) {
    if (G::pixels % Tile::pixels != 0 && pixel >= G::pixels) return out;
    const int64_t plane = (static_cast<int64_t>(sample) * G::groups + group) * G::channels + channel;
    const auto* from = reinterpret_cast<const float4*>(x + (plane * G::pixels + pixel));
    // Read once, it needn't stay; other slices find it in L2.
    const float4 quad = Tile::slices == 1 ? __ldcs(from) : *from;
    return {{quad.x, quad.y, quad.z, quad.w}};
  } else {
    const Index column = static_cast<Index>(sample * G::pixels + pixel);
#pragma unroll
    for (int t = 0; t < 4; ++t)
      if (pixel + t < G::pixels)
        out[t] = load_right<P, float>(
            x, P::right(static_cast<Index>(group), static_cast<Index>(channel), column + t));
    return out;
  }
}

template <class P, class G, bool exact, bool vectors, class Epilogue>
__global__ void __launch_bounds__(PointwiseTile<G, exact>::threads, PointwiseTile<G, exact>::blocks)
    pointwise_kernel(const typename P::Right* __restrict__ x, const float* __restrict__ packed,
                     const float* __restrict__ bias, typename P::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = PointwiseTile<G, exact>;
  using Index = typename P::Index;
  using Quad = Pack<uint32_t, 4>;
  constexpr int filter_tiles = Tile::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), column = lane / 4, pair = lane % 4;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices);
  const int64_t wanted =
      static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::warps + static_cast<int>(threadIdx.x / 32);
  const bool inside = wanted < Tile::units;
  if (!inside && !G::together) return;
  const int64_t unit = inside ? wanted : 0;
  const int64_t first_pixel = unit % Tile::tiles * Tile::pixels;
  const int group = static_cast<int>(unit / Tile::tiles % G::groups),
            sample = static_cast<int>(unit / Tile::tiles / G::groups);
  // Even columns are the first 16 pixels, odd ones the others.
  const int64_t own_pixel = first_pixel + 4 * (column / 2 + column % 2 * 4);
  const int first_filter = slice * filter_tiles * 16;

  Pack<float, 4> next[Tile::held][2], here[Tile::held][2];
  auto fetch = [&](int round) {
#pragma unroll
    for (int s = 0; s < Tile::held; ++s)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const int step = round * Tile::held + s;
        next[s][part] = {};
        if (Tile::steps % Tile::held == 0 || step < Tile::steps)
          next[s][part] =
              load_pixels<P, G, Tile, vectors>(x, group, sample, step * 8 + pair + part * 4, own_pixel);
      }
  };
  fetch(0);

  float sums[filter_tiles][4][4];
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int filter = first_filter + f * 16 + h * 8 + column;
      const float start = bias && filter < G::filters ? bias[group * G::filters + filter] : 0.0f;
#pragma unroll
      for (int t = 0; t < 4; ++t) sums[f][t][2 * h] = sums[f][t][2 * h + 1] = start;
    }

  const Quad* weights =
      reinterpret_cast<const Quad*>(packed + (int64_t{group} * Tile::slices + slice) * Tile::slice_packed) +
      lane;
#pragma unroll 1
  for (int round = 0; round < Tile::rounds; ++round) {
    if constexpr (G::together) __syncthreads();
#pragma unroll
    for (int s = 0; s < Tile::held; ++s)
#pragma unroll
      for (int part = 0; part < 2; ++part) here[s][part] = next[s][part];
    if (round + 1 < Tile::rounds) fetch(round + 1);
#pragma unroll
    for (int s = 0; s < Tile::held; ++s) {
      const int step = round * Tile::held + s;
      if (Tile::steps % Tile::held != 0 && step >= Tile::steps) break;
      MmaRight high[4], low[4];
#pragma unroll
      for (int t = 0; t < 4; ++t)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const float value = here[s][part][t];
          high[t].parts[part] = tf32_bits(value);
          if constexpr (exact) low[t].parts[part] = tf32_bits(value - __uint_as_float(high[t].parts[part]));
        }
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f) {
        const Quad* operand = weights + (step * filter_tiles + f) * Tile::parts * 32;
        const Quad first = operand[0];
        const MmaLeft left = {{first[0], first[1], first[2], first[3]}};
        if constexpr (exact) {
          const Quad second = operand[32];
          const MmaLeft rest = {{second[0], second[1], second[2], second[3]}};
#pragma unroll
          for (int t = 0; t < 4; ++t) mma_tf32(sums[f][t], rest, high[t]);
#pragma unroll
          for (int t = 0; t < 4; ++t) mma_tf32(sums[f][t], left, low[t]);
        }
#pragma unroll
        for (int t = 0; t < 4; ++t) mma_tf32(sums[f][t], left, high[t]);
      }
    }
  }

  if (!inside) return;
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int filter = first_filter + f * 16 + h * 8 + column;
      if (filter >= G::filters) continue;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int64_t pixel = first_pixel + 4 * pair + 16 * c;
        const Index position = static_cast<Index>(
            ((static_cast<int64_t>(sample) * G::groups + group) * G::filters + filter) * G::pixels + pixel);
        auto place = [&](int t) {
          if constexpr (G::out_in_planes) return position + t;
          return P::out(static_cast<Index>(group), static_cast<Index>(filter),
                        static_cast<Index>(sample * G::pixels + pixel) + t);
        };
        if constexpr (vectors && G::out_in_quads) {
          if (pixel >= G::pixels) continue;
          Pack<float, 4> quad;
#pragma unroll
          for (int t = 0; t < 4; ++t) quad[t] = epilogue(sums[f][t][2 * h + c], position + t);
          *reinterpret_cast<Pack<float, 4>*>(out + place(0)) = quad;
        } else {
#pragma unroll
          for (int t = 0; t < 4; ++t)
            if (pixel + t < G::pixels)
              out[place(t)] = static_cast<typename P::Out>(epilogue(sums[f][t][2 * h + c], position + t));
        }
      }
    }
}

// `bias` (groups · filters), or null.
template <class P, class G, bool exact, class Epilogue>
StitchStatus enqueue_pointwise(const char* name, const typename P::Right* x, const float* packed,
                               const float* bias, typename P::Out* out, Epilogue epilogue,
                               cudaStream_t stream) {
  using Tile = PointwiseTile<G, exact>;
  const Geometry geometry{static_cast<unsigned>(divide_up(Tile::units, Tile::warps) * Tile::slices),
                          Tile::threads};
  if constexpr (G::x_in_quads)
    if (is_aligned(x, 16) && (!G::out_in_quads || is_aligned(out, 16)))
      return launch(name, pointwise_kernel<P, G, exact, true, Epilogue>, geometry, stream, x, packed, bias,
                    out, epilogue);
  return launch(name, pointwise_kernel<P, G, exact, false, Epilogue>, geometry, stream, x, packed, bias, out,
                epilogue);
}

}  // namespace stitch
