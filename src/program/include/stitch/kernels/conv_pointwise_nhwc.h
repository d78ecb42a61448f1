// 1 x 1 convolutions of NHWC images: over all pixels of all samples
//   out (pixels, filters) = x (pixels, channels) · weight (filters, channels)'
// on tensor cores with FP32 sums: fp16 and bf16 directly, FP32 in TF32, or `exact` at FP32 accuracy from
// three products of TF32 pairs (split_pair.h).
// Mobile networks have small images, for which a library's tiles leave most of the GPU idle: here a warp
// computes 16 · pixel_tiles pixels of 8 · filter_tiles filters, and depth_warps of them split the channels
// and add up in shared memory in a fixed order. Operands go from global memory to registers: channels may be
// summed in any order, so a lane holds 16 contiguous bytes of channels of its pixels, and of its filters in
// packed weights. Moves only x and the result, with the epilogue fused. A gate (samples, channels), as in
// squeeze-and-excite, is multiplied with x first. For large images a warp computes several tiles, prefetching
// the next one's pixels: with one tile per warp it mostly waited for memory (1 TB/s on an H200, for any
// number of channels).
//   struct ConvRows {
//     static constexpr int64_t pixels = 3136, plane = 196;  // of all samples, and of one
//     static constexpr int channels = 184, filters = 80;
//     static constexpr int pixel_tiles = 1, filter_tiles = 5, depth_warps = 4;
//     static constexpr bool x_nchw = false, out_nchw = false;  // where a network's NHWC part begins or ends
//     static constexpr bool raw_weights = false;  // the model's, not packed
//   };
// The epilogue is called with (value, sample, channel, pixel).
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class Shape, class Element, bool exact>
struct NhwcTile {
  static constexpr int each = 16 / sizeof(Element);  // channels per lane and step
  static constexpr int step_channels = 4 * each;
  static constexpr int tile_warps = Shape::depth_warps < 4 ? 4 / Shape::depth_warps : 1;
  static constexpr int threads = 32 * tile_warps * Shape::depth_warps;
  static constexpr int pixels = 16 * Shape::pixel_tiles, tiles = Shape::pixel_tiles * Shape::filter_tiles;

  static constexpr int all_filter_tiles = (Shape::filters + 7) / 8;
  static constexpr int slices = (all_filter_tiles + Shape::filter_tiles - 1) / Shape::filter_tiles;
  static constexpr int steps = (Shape::channels + step_channels - 1) / step_channels;
  static constexpr int own_steps = (steps + Shape::depth_warps - 1) / Shape::depth_warps;  // per warp
  static constexpr int most_held =
      Shape::pixel_tiles == 1 ? 4 : 2;  // steps whose pixels are in flight together
  static constexpr int rounds = (own_steps + most_held - 1) / most_held;
  static constexpr int held = (own_steps + rounds - 1) / rounds;
  static __host__ __device__ constexpr int64_t units(Shape shape) {  // per slice
    return (shape.pixels + pixels - 1) / pixels;
  }
  // Units per warp: all are done in two waves of warps.
  static __host__ __device__ constexpr int repeats(Shape shape) {
    const int64_t two_waves = 32 * Shape::multiprocessors,
                  wanted = (units(shape) * slices + two_waves - 1) / two_waves;
    return Shape::depth_warps > 1 ? 1 : wanted < 16 ? static_cast<int>(wanted) : 16;
  }
  // Some lanes have channels past the last one.
  static constexpr bool padded = rounds * held * Shape::depth_warps * step_channels != Shape::channels;

  // Operands in lane order: (slices, steps, filter tiles, parts, lanes, each).
  static constexpr int parts = exact && !Shape::raw_weights ? 2 : 1;
  static constexpr int64_t packed = int64_t{slices} * steps * Shape::filter_tiles * parts * 32 * each;
};

template <class Shape, class Element, bool exact>
struct NhwcPacking {
  static constexpr int64_t count = NhwcTile<Shape, Element, exact>::packed;
  template <class Weight>
  __device__ static Element element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = NhwcTile<Shape, Element, exact>;
    const int lane = static_cast<int>(i / Tile::each % 32);
    const int64_t operand = i / Tile::each / 32, tile = operand / Tile::parts;
    const int step = static_cast<int>(tile / Shape::filter_tiles % Tile::steps);
    const int64_t slice = tile / Shape::filter_tiles / Tile::steps;
    const int64_t filter = (slice * Shape::filter_tiles + tile % Shape::filter_tiles) * 8 + lane / 4;
    const int channel = step * Tile::step_channels + lane % 4 * Tile::each + static_cast<int>(i % Tile::each);
    const bool inside = filter < Shape::filters && channel < Shape::channels;
    const float value = inside ? static_cast<float>(weight[filter * Shape::channels + channel]) : 0.0f;
    if constexpr (std::is_same_v<Element, float>) {
      return tf32_part(value, operand % Tile::parts == 1);
    } else {
      return Element(value);
    }
  }
};
template <class Shape, class Element, bool exact, class Weight>
StitchStatus pack_nhwc(const Weight* weight, Element* packed, cudaStream_t stream) {
  return pack_weight<NhwcPacking<Shape, Element, exact>>("pack_nhwc", weight, packed, stream);
}

using NhwcWords = Pack<uint32_t, 4>;  // 16 bytes of channels: one per word in FP32, otherwise two

// A lane's channels of a pixel; zeros past the last.
template <class Shape, class Tile, bool vectors, bool dense, class Element>
__device__ __forceinline__ NhwcWords load_words(const Element* __restrict__ pixel, int channel,
                                                int64_t stride = 1) {
  constexpr int each = Tile::each;
  if constexpr (vectors && dense) {
    if (Tile::padded && channel >= Shape::channels) return {};
    return *reinterpret_cast<const NhwcWords*>(pixel + channel);
  } else {
    union {
      NhwcWords words;
      Pack<Element, each> values;
    };
    words = {};
#pragma unroll
    for (int e = 0; e < each; ++e)
      if (channel + e < Shape::channels) values[e] = pixel[(channel + e) * (dense ? 1 : stride)];
    return words;
  }
}

// A word of x times the gate, rounded to x's type, as a separate multiplication would.
template <class Element, class Gate, int each>
__device__ __forceinline__ uint32_t gated_word(uint32_t word, const Pack<Gate, each>& gate, int index) {
  if constexpr (std::is_same_v<Element, float>) {
    return __float_as_uint(__uint_as_float(word) * static_cast<float>(gate[index]));
  } else {
    const float first = static_cast<float>(gate[2 * index]), second = static_cast<float>(gate[2 * index + 1]);
    if constexpr (std::is_same_v<Element, __half>) {
      const float2 x = float_pair(word);
      return half_pair(x.x * first, x.y * second);
    } else {
      const float2 x = float_pair_of_bfloats(word);
      return bfloat_pair(x.x * first, x.y * second);
    }
  }
}

// A lane's channels of a sample's gate; zeros past the last.
template <class Shape, class Tile, bool vectors, class Gate>
__device__ __forceinline__ Pack<Gate, Tile::each> load_gate(const Gate* __restrict__ sample, int channel) {
  Pack<Gate, Tile::each> out = {};
  if constexpr (vectors) {
    constexpr int quads = 16 / sizeof(Gate);
    if (Tile::padded && channel >= Shape::channels) return out;
#pragma unroll
    for (int i = 0; i < Tile::each / quads; ++i) {
      const auto quad = load<quads>(sample + channel, i);
#pragma unroll
      for (int e = 0; e < quads; ++e) out[i * quads + e] = quad[e];
    }
  } else {
#pragma unroll
    for (int e = 0; e < Tile::each; ++e)
      if (channel + e < Shape::channels) out[e] = sample[channel + e];
  }
  return out;
}

// The high or low part of a step's weights, first or second half.
template <class Shape, class Element, class Tile, bool low>
__device__ __forceinline__ MmaRight weight_operand(const NhwcWords (&words)[Tile::parts], int half) {
  MmaRight out;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t word = words[low ? Tile::parts - 1 : 0][2 * half + i];
    out.parts[i] = word;
    if constexpr (Shape::raw_weights && std::is_same_v<Element, float>) {
      const Tf32Pair number = split_tf32(__uint_as_float(word));
      out.parts[i] = low ? number.low : number.high;
    }
  }
  return out;
}

// Two adjacent filters of a pixel.
template <class Shape, bool pairs, class Out, class Epilogue>
__device__ __forceinline__ void finish_nhwc(Shape shape, Out* __restrict__ out, int64_t pixel, int filter,
                                            float first, float second, const Epilogue& epilogue) {
  using Flat = flat_t<Shape>;
  if (pixel >= shape.pixels || filter >= Shape::filters) return;
  const int sample = static_cast<int>(static_cast<Flat>(pixel) / static_cast<Flat>(shape.plane)),
            within = static_cast<int>(static_cast<Flat>(pixel) % static_cast<Flat>(shape.plane));
  const int64_t stride = Shape::out_nchw ? shape.plane : 1;
  Out* to = Shape::out_nchw ? out + (int64_t{sample} * Shape::filters + filter) * shape.plane + within
                            : out + pixel * Shape::filters + filter;
  if constexpr (pairs && !Shape::out_nchw) {
    *reinterpret_cast<Pack<Out, 2>*>(to) = {{static_cast<Out>(epilogue(first, sample, filter, within)),
                                             static_cast<Out>(epilogue(second, sample, filter + 1, within))}};
  } else {
    to[0] = static_cast<Out>(epilogue(first, sample, filter, within));
    if (filter + 1 < Shape::filters)
      to[stride] = static_cast<Out>(epilogue(second, sample, filter + 1, within));
  }
}

// Four tiles of eight filters of one pixel: the lanes of a quad have two of each and exchange them, so that
// each stores eight of one tile. Only for 16-bit results: two of those are half a sector.
template <class Shape, class Out, class Epilogue>
__device__ __forceinline__ void finish_nhwc_quad(Shape shape, Out* __restrict__ out, int64_t pixel,
                                                 int first_filter, int pair, const float (&first)[4],
                                                 const float (&second)[4], const Epilogue& epilogue) {
  using Flat = flat_t<Shape>;
  const int64_t clamped = pixel < shape.pixels ? pixel : shape.pixels - 1;
  const int sample = static_cast<int>(static_cast<Flat>(clamped) / static_cast<Flat>(shape.plane)),
            within = static_cast<int>(static_cast<Flat>(clamped) % static_cast<Flat>(shape.plane));
  union Word {
    uint32_t bits;
    Pack<Out, 2> values;
  };
  uint32_t words[4];
#pragma unroll
  for (int f = 0; f < 4; ++f) {
    const int filter = first_filter + 8 * f + 2 * pair;
    Word word{};
    word.values = {{static_cast<Out>(epilogue(first[f], sample, filter, within)),
                    static_cast<Out>(epilogue(second[f], sample, filter + 1, within))}};
    words[f] = word.bits;
  }
  NhwcWords mine;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t sent = words[i];
#pragma unroll
    for (int k = 1; k < 4; ++k)
      if (pair == k) sent = words[k ^ i];
    const uint32_t received = __shfl_xor_sync(0xffffffffu, sent, i);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (pair == (k ^ i)) mine[k] = received;
  }
  if (pixel < shape.pixels)
    *reinterpret_cast<NhwcWords*>(out + pixel * Shape::filters + first_filter + 8 * pair) = mine;
}

// sums += a step's product: its pixels' words, rows `row` and `row` + 8 of each tile, and weights.
template <class Shape, class Element, bool exact, bool gated, class Sums, class Words, class Gates,
          class Operands>
__device__ __forceinline__ void multiply_nhwc_step(Sums& sums, const Words& words, const Gates& gates,
                                                   const Operands& operands) {
  using Tile = NhwcTile<Shape, Element, exact>;
  constexpr int pixel_tiles = Shape::pixel_tiles, filter_tiles = Shape::filter_tiles;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    MmaLeft high[pixel_tiles], low[pixel_tiles];
#pragma unroll
    for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t word = words[p][i % 2][2 * k + i / 2];
        if constexpr (gated) word = gated_word<Element>(word, gates[p][i % 2], 2 * k + i / 2);
        if constexpr (!std::is_same_v<Element, float>) {
          high[p].parts[i] = word;
        } else {
          const Tf32Pair number = split_tf32(__uint_as_float(word));
          high[p].parts[i] = number.high;
          if constexpr (exact) low[p].parts[i] = number.low;
        }
      }
    if constexpr (exact) {
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
        for (int p = 0; p < pixel_tiles; ++p) {
          mma_of<Element>(sums[p][f], high[p], weight_operand<Shape, Element, Tile, true>(operands[f], k));
          mma_of<Element>(sums[p][f], low[p], weight_operand<Shape, Element, Tile, false>(operands[f], k));
        }
    }
#pragma unroll
    for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
      for (int p = 0; p < pixel_tiles; ++p)
        mma_of<Element>(sums[p][f], high[p], weight_operand<Shape, Element, Tile, false>(operands[f], k));
  }
}

// Epilogue and stores of a warp's tiles, whose parts are added first where warps split the channels.
template <class Shape, class Element, bool exact, bool vectors, class Sums, class Out, class Epilogue>
__device__ __forceinline__ void finish_nhwc_tiles(Shape shape, const Sums& sums, Out* __restrict__ out,
                                                  const Epilogue& epilogue, int64_t first_pixel, int slice,
                                                  int tile_warp, int depth, int lane) {
  using Tile = NhwcTile<Shape, Element, exact>;
  constexpr int pixel_tiles = Shape::pixel_tiles, filter_tiles = Shape::filter_tiles;
  const int row = lane / 4, pair = lane % 4;
  // A tile's sums: columns 2 · pair and 2 · pair + 1, rows `row` and `row` + 8.
  auto finish = [&](int p, int f, const float(&tile)[4]) {
    const int filter = (slice * filter_tiles + f) * 8 + 2 * pair;
#pragma unroll
    for (int h = 0; h < 2; ++h)
      finish_nhwc<Shape, vectors && Shape::filters % 2 == 0>(shape, out, first_pixel + p * 16 + h * 8 + row,
                                                             filter, tile[2 * h], tile[2 * h + 1], epilogue);
  };
  if constexpr (Shape::depth_warps == 1) {
    constexpr bool quads = vectors && !Shape::out_nchw && sizeof(Out) == 2 && Shape::filters % 8 == 0;
#pragma unroll
    for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f) {
        const int first_filter = (slice * filter_tiles + f) * 8;
        if (quads && f % 4 == 0 && f + 4 <= filter_tiles && first_filter + 32 <= Shape::filters) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            float first[4], second[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              const int tile = f + i < filter_tiles ? f + i : 0;  // constant once unrolled
              first[i] = sums[p][tile][2 * h], second[i] = sums[p][tile][2 * h + 1];
            }
            if constexpr (quads)
              finish_nhwc_quad(shape, out, first_pixel + p * 16 + h * 8 + row, first_filter, pair, first,
                               second, epilogue);
          }
        } else if (!(quads && f / 4 * 4 + 4 <= filter_tiles &&
                     (slice * filter_tiles + f / 4 * 4) * 8 + 32 <= Shape::filters)) {
          finish(p, f, sums[p][f]);
        }
      }
  } else {
    __shared__ Pack<float, 4> partial[Tile::tile_warps][Shape::depth_warps][Tile::tiles][32];
#pragma unroll
    for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f)
        partial[tile_warp][depth][p * filter_tiles + f][lane] = {
            {sums[p][f][0], sums[p][f][1], sums[p][f][2], sums[p][f][3]}};
    __syncthreads();
    for (int tile = depth; tile < Tile::tiles; tile += Shape::depth_warps) {
      float total[4] = {};
#pragma unroll
      for (int d = 0; d < Shape::depth_warps; ++d) {
        const Pack<float, 4> part = partial[tile_warp][d][tile][lane];
#pragma unroll
        for (int i = 0; i < 4; ++i) total[i] += part[i];
      }
      finish(tile / filter_tiles, tile % filter_tiles, total);
    }
  }
}

// `vectors`: 16 bytes of channels and filters are aligned. `gate`: only if gated.
template <class Shape, class Element, bool exact, bool gated, bool vectors, class Gate, class Out,
          class Epilogue>
__global__ void __launch_bounds__(NhwcTile<Shape, Element, exact>::threads)
    pointwise_nhwc_kernel(const Element* __restrict__ x, const Gate* __restrict__ gate,
                          const Element* __restrict__ packed, Out* __restrict__ out, Epilogue epilogue,
                          Shape shape) {
  wait_for_previous_kernel();
  using Tile = NhwcTile<Shape, Element, exact>;
  constexpr int pixel_tiles = Shape::pixel_tiles, filter_tiles = Shape::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), row = lane / 4, pair = lane % 4;
  const int warp = static_cast<int>(threadIdx.x / 32), depth = warp % Shape::depth_warps,
            tile_warp = warp / Shape::depth_warps;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices), repeats = Tile::repeats(shape);
  const int64_t units = Tile::units(shape);
  int64_t unit = static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::tile_warps * repeats + tile_warp;
  if (Shape::depth_warps == 1 && unit >= units) return;
  const int first_step = depth * Tile::own_steps;

  const Element* rows[pixel_tiles][2];  // rows past the end repeat the last
  const Gate* gates[pixel_tiles][2];
  auto look_at = [&](int64_t of) {
#pragma unroll
    for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        using Flat = flat_t<Shape>;
        const Flat wanted = static_cast<Flat>(of * Tile::pixels + p * 16 + h * 8 + row),
                   last = static_cast<Flat>(shape.pixels - 1), pixel = wanted < last ? wanted : last;
        const int64_t sample = static_cast<int64_t>(pixel / static_cast<Flat>(shape.plane)),
                      within = static_cast<int64_t>(pixel % static_cast<Flat>(shape.plane));
        rows[p][h] = x + (Shape::x_nchw ? sample * Shape::channels * shape.plane + within
                                        : static_cast<int64_t>(pixel) * Shape::channels);
        if constexpr (gated) gates[p][h] = gate + sample * Shape::channels;
      }
  };
  look_at(unit);
  NhwcWords next[Tile::held][pixel_tiles][2], here[Tile::held][pixel_tiles][2];
  Pack<Gate, Tile::each> next_gate[Tile::held][pixel_tiles][2], here_gate[Tile::held][pixel_tiles][2];
  auto fetch = [&](int round) {
#pragma unroll
    for (int s = 0; s < Tile::held; ++s)
#pragma unroll
      for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int channel = (first_step + round * Tile::held + s) * Tile::step_channels + pair * Tile::each;
          next[s][p][h] = load_words<Shape, Tile, vectors, !Shape::x_nchw>(rows[p][h], channel, shape.plane);
          if constexpr (gated) next_gate[s][p][h] = load_gate<Shape, Tile, vectors>(gates[p][h], channel);
        }
  };
  fetch(0);

  const NhwcWords* weights = reinterpret_cast<const NhwcWords*>(packed) +
                             int64_t{slice} * Tile::steps * filter_tiles * Tile::parts * 32 + lane;
  const Element* filters[filter_tiles];  // raw weights; filters past the end repeat the last
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f) {
    const int filter = (slice * filter_tiles + f) * 8 + row;
    filters[f] = packed + int64_t{filter < Shape::filters ? filter : Shape::filters - 1} * Shape::channels;
  }
#pragma unroll 1
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const int64_t first_pixel = unit * Tile::pixels;
    unit += Tile::tile_warps;
    const bool more = repeat + 1 < repeats && unit < units;
    float sums[pixel_tiles][filter_tiles][4] = {};
#pragma unroll 1
    for (int round = 0; round < Tile::rounds; ++round) {
#pragma unroll
      for (int s = 0; s < Tile::held; ++s)
#pragma unroll
        for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            here[s][p][h] = next[s][p][h];
            if constexpr (gated) here_gate[s][p][h] = next_gate[s][p][h];
          }
      if (round + 1 < Tile::rounds) {
        fetch(round + 1);
      } else if (more) {
        look_at(unit);
        fetch(0);
      }
#pragma unroll
      for (int s = 0; s < Tile::held; ++s) {
        const int own = round * Tile::held + s, step = first_step + own;
        if (Tile::own_steps % Tile::held != 0 && own >= Tile::own_steps) break;
        if (Tile::own_steps * Shape::depth_warps != Tile::steps && step >= Tile::steps) break;
        NhwcWords operands[filter_tiles][Tile::parts];
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
          for (int part = 0; part < Tile::parts; ++part)
            if constexpr (Shape::raw_weights)
              operands[f][part] = load_words<Shape, Tile, vectors, true>(
                  filters[f], step * Tile::step_channels + pair * Tile::each);
            else
              operands[f][part] = weights[((step * filter_tiles + f) * Tile::parts + part) * 32];
        multiply_nhwc_step<Shape, Element, exact, gated>(sums, here[s], here_gate[s], operands);
      }
    }

    finish_nhwc_tiles<Shape, Element, exact, vectors>(shape, sums, out, epilogue, first_pixel, slice,
                                                      tile_warp, depth, lane);
    if (Shape::depth_warps > 1 || !more) return;
  }
}

// Rows and columns of a product as its position. Pairs of TF32 give NaN for infinities (inf - inf): such sums
// are recomputed directly.
template <class Epilogue, int columns, int depth>
struct AtPosition {
  Epilogue epilogue;
  const float *x, *weight;  // (rows, depth), (columns, depth)
  __device__ __noinline__ float plain_sum(int64_t row, int64_t column) const {
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k) sum = fmaf(x[row * depth + k], weight[column * depth + k], sum);
    return sum;
  }
  __device__ __forceinline__ float operator()(float value, int row, int column, int) const {
    return epilogue(isfinite(value) ? value : plain_sum(row, column), row * columns + column);
  }
};

template <bool exact, bool gated, class Shape, class Element, class Gate, class Out, class Epilogue>
StitchStatus enqueue_nhwc(const char* name, Shape shape, const Element* x, const Gate* gate,
                          const Element* packed, Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Tile = NhwcTile<Shape, Element, exact>;
  const Geometry geometry{
      blocks_of(divide_up(Tile::units(shape), int64_t{Tile::tile_warps} * Tile::repeats(shape)) *
                Tile::slices),
      Tile::threads};
  if constexpr (Shape::channels % Tile::each == 0)
    if (is_aligned(x, 16) && is_aligned(gate, 16) && is_aligned(packed, 16) && is_aligned(out, 16))
      return launch(name, pointwise_nhwc_kernel<Shape, Element, exact, gated, true, Gate, Out, Epilogue>,
                    geometry, stream, x, gate, packed, out, epilogue, shape);
  return launch(name, pointwise_nhwc_kernel<Shape, Element, exact, gated, false, Gate, Out, Epilogue>,
                geometry, stream, x, gate, packed, out, epilogue, shape);
}
template <class Element, bool exact, class Shape, class Out, class Epilogue>
StitchStatus enqueue_pointwise_nhwc(const char* name, Shape shape, const Element* x, const Element* packed,
                                    Out* out, Epilogue epilogue, cudaStream_t stream) {
  constexpr const Element* none = nullptr;
  return enqueue_nhwc<exact, false>(name, shape, x, none, packed, out, epilogue, stream);
}
// out (rows, columns) = x (rows, depth) · weight (columns, depth)' at FP32 accuracy, with unpacked weights.
// The epilogue is called with (value, position).
template <class Shape, class Epilogue>
StitchStatus enqueue_thin_product(const char* name, Shape shape, const float* x, const float* weight,
                                  float* out, Epilogue epilogue, cudaStream_t stream) {
  return enqueue_pointwise_nhwc<float, true>(
      name, shape, x, weight, out, AtPosition<Epilogue, Shape::filters, Shape::channels>{epilogue, x, weight},
      stream);
}
// `gate` (samples, channels)
template <class Element, bool exact, class Shape, class Gate, class Out, class Epilogue>
StitchStatus enqueue_gated_nhwc(const char* name, Shape shape, const Element* x, const Gate* gate,
                                const Element* packed, Out* out, Epilogue epilogue, cudaStream_t stream) {
  return enqueue_nhwc<exact, true>(name, shape, x, gate, packed, out, epilogue, stream);
}

}  // namespace stitch
