// Convolutions with kernels of one pixel over NHWC images: over all pixels of all samples
//   out (pixels, filters) = x (pixels, channels) · weight (filters, channels)'
// on tensor cores with FP32 sums: fp16 and bf16 as they are, FP32 in TF32, or `exact` at FP32's accuracy:
//   w · x = w_high · x_high + w_high · x_low + w_low · x_high
// Images of mobile networks are small, and tiles of a library's product leave most of the machine without
// one: here a warp makes 16 · pixel_tiles pixels of 8 · filter_tiles filters, and depth_warps of them share
// the channels and add up in shared memory, in one order. Operands go from memory to registers: channels may
// be summed in any order, so a lane holds 16 bytes of neighbouring channels of its pixels, and of its filters
// in packed weights. Nothing is moved but x and the result, and the epilogue happens on the way. A gate
// (samples, channels), as squeeze-and-excite has it, is multiplied with x before that. Of large images a warp
// makes several tiles one after the other, the next one's pixels on their way meanwhile: a warp for each
// waited for memory most of the time (1 TB/s on an H200, whatever the channels).
//   struct ConvRows {
//     static constexpr int64_t pixels = 3136, plane = 196;  // of all samples, and of one
//     static constexpr int channels = 184, filters = 80;
//     static constexpr int pixel_tiles = 1, filter_tiles = 5, depth_warps = 4;
//     static constexpr bool x_nchw = false, out_nchw = false;  // where a network's NHWC part begins or ends
//     static constexpr bool raw_weights = false;  // as the model has them, not packed
//   };
// The epilogue is asked for (value, sample, channel, pixel).
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class G, class T, bool exact>
struct NhwcTile {
  static constexpr int each = 16 / sizeof(T);  // channels of a lane in a step
  static constexpr int step_channels = 4 * each;
  static constexpr int tile_warps = G::depth_warps < 4 ? 4 / G::depth_warps : 1;
  static constexpr int threads = 32 * tile_warps * G::depth_warps;
  static constexpr int pixels = 16 * G::pixel_tiles, tiles = G::pixel_tiles * G::filter_tiles;

  static constexpr int all_filter_tiles = (G::filters + 7) / 8;
  static constexpr int slices = (all_filter_tiles + G::filter_tiles - 1) / G::filter_tiles;
  static constexpr int steps = (G::channels + step_channels - 1) / step_channels;
  static constexpr int own_steps = (steps + G::depth_warps - 1) / G::depth_warps;  // of a warp
  static constexpr int most_held = G::pixel_tiles == 1 ? 4 : 2;  // steps whose pixels are under way together
  static constexpr int rounds = (own_steps + most_held - 1) / most_held;
  static constexpr int held = (own_steps + rounds - 1) / rounds;
  static constexpr int64_t units = (G::pixels + pixels - 1) / pixels;  // of a slice
  // Units of a warp: so many that two waves of warps make all.
  static constexpr int64_t two_waves = 132 * 32, wanted = (units * slices + two_waves - 1) / two_waves;
  static constexpr int repeats = G::depth_warps > 1 ? 1 : wanted < 16 ? static_cast<int>(wanted) : 16;
  static constexpr int64_t x_stride = G::x_nchw ? G::plane : 1;  // of channels
  // Some lanes are asked for channels past the last one.
  static constexpr bool padded = rounds * held * G::depth_warps * step_channels != G::channels;

  // Operands as lanes hold them: (slices, steps, filter tiles, parts, lanes, each).
  static constexpr int parts = exact && !G::raw_weights ? 2 : 1;
  static constexpr int64_t packed = int64_t{slices} * steps * G::filter_tiles * parts * 32 * each;
};

template <class G, class T, bool exact, class Weight>
__global__ void __launch_bounds__(256)
    pack_nhwc_kernel(const Weight* __restrict__ weight, T* __restrict__ packed) {
  wait_for_previous_kernel();
  using Tile = NhwcTile<G, T, exact>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= Tile::packed) return;
  const int lane = static_cast<int>(i / Tile::each % 32);
  const int64_t operand = i / Tile::each / 32, tile = operand / Tile::parts;
  const int step = static_cast<int>(tile / G::filter_tiles % Tile::steps);
  const int64_t slice = tile / G::filter_tiles / Tile::steps;
  const int64_t filter = (slice * G::filter_tiles + tile % G::filter_tiles) * 8 + lane / 4;
  const int channel = step * Tile::step_channels + lane % 4 * Tile::each + static_cast<int>(i % Tile::each);
  const bool inside = filter < G::filters && channel < G::channels;
  const float value = inside ? static_cast<float>(weight[filter * G::channels + channel]) : 0.0f;
  if constexpr (std::is_same_v<T, float>) {
    const float high = __uint_as_float(tf32_bits(value));
    packed[i] = operand % Tile::parts == 1 ? __uint_as_float(tf32_bits(value - high)) : high;
  } else {
    packed[i] = T(value);
  }
}
template <class G, class T, bool exact, class Weight>
StitchStatus pack_nhwc(const Weight* weight, T* packed, cudaStream_t stream) {
  return launch("pack_nhwc", pack_nhwc_kernel<G, T, exact, Weight>,
                {static_cast<unsigned>(divide_up(NhwcTile<G, T, exact>::packed, 256)), 256}, stream, weight,
                packed);
}

using NhwcWords = Pack<uint32_t, 4>;  // 16 bytes of channels: of FP32 a channel a word, else two

// A lane's channels of a pixel; zeros past the last one.
template <class G, class Tile, bool vectors, int64_t stride, class T>
__device__ __forceinline__ NhwcWords load_words(const T* __restrict__ pixel, int channel) {
  constexpr int each = Tile::each;
  if constexpr (vectors && stride == 1) {
    if (Tile::padded && channel >= G::channels) return {};
    return *reinterpret_cast<const NhwcWords*>(pixel + channel);
  } else {
    union {
      NhwcWords words;
      Pack<T, each> values;
    };
    words = {};
#pragma unroll
    for (int e = 0; e < each; ++e)
      if (channel + e < G::channels) values[e] = pixel[(channel + e) * stride];
    return words;
  }
}

// A word of x times the gate; rounded to x's type, as the multiplication by itself would.
template <class T, class Gate, int each>
__device__ __forceinline__ uint32_t gated_word(uint32_t word, const Pack<Gate, each>& gate, int index) {
  if constexpr (std::is_same_v<T, float>) {
    return __float_as_uint(__uint_as_float(word) * static_cast<float>(gate[index]));
  } else {
    const float first = static_cast<float>(gate[2 * index]), second = static_cast<float>(gate[2 * index + 1]);
    if constexpr (std::is_same_v<T, __half>) {
      const float2 x = float_pair(word);
      return half_pair(x.x * first, x.y * second);
    } else {
      const float2 x = float_pair_of_bfloats(word);
      return bfloat_pair(x.x * first, x.y * second);
    }
  }
}

// A lane's channels of a sample's gate; zeros past the last one.
template <class G, class Tile, bool vectors, class Gate>
__device__ __forceinline__ Pack<Gate, Tile::each> load_gate(const Gate* __restrict__ sample, int channel) {
  Pack<Gate, Tile::each> out = {};
  if constexpr (vectors) {
    constexpr int quads = 16 / sizeof(Gate);
    if (Tile::padded && channel >= G::channels) return out;
#pragma unroll
    for (int i = 0; i < Tile::each / quads; ++i) {
      const auto quad = load<quads>(sample + channel, i);
#pragma unroll
      for (int e = 0; e < quads; ++e) out[i * quads + e] = quad[e];
    }
  } else {
#pragma unroll
    for (int e = 0; e < Tile::each; ++e)
      if (channel + e < G::channels) out[e] = sample[channel + e];
  }
  return out;
}

template <class T>
__device__ __forceinline__ void mma_of(float (&sums)[4], const MmaLeft& left, const MmaRight& right) {
  if constexpr (std::is_same_v<T, float>)
    mma_tf32(sums, left, right);
  else if constexpr (std::is_same_v<T, __half>)
    mma(sums, left, right);
  else
    mma_bfloat(sums, left, right);
}

// The high or the low part of a step's weights, of its first or second half.
template <class G, class T, class Tile, bool low>
__device__ __forceinline__ MmaRight weight_operand(const NhwcWords (&words)[Tile::parts], int half) {
  MmaRight out;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32_t word = words[low ? Tile::parts - 1 : 0][2 * half + i];
    out.parts[i] = word;
    if constexpr (G::raw_weights && std::is_same_v<T, float>) {
      const uint32_t high = tf32_bits(__uint_as_float(word));
      out.parts[i] = low ? tf32_bits(__uint_as_float(word) - __uint_as_float(high)) : high;
    }
  }
  return out;
}

// Two neighbouring filters of a pixel.
template <class G, bool pairs, class Out, class Epilogue>
__device__ __forceinline__ void finish_nhwc(Out* __restrict__ out, int64_t pixel, int filter, float first,
                                            float second, const Epilogue& epilogue) {
  using Flat = flat_index_t<G::pixels>;
  if (pixel >= G::pixels || filter >= G::filters) return;
  const int sample = static_cast<int>(static_cast<Flat>(pixel) / static_cast<Flat>(G::plane)),
            within = static_cast<int>(static_cast<Flat>(pixel) % static_cast<Flat>(G::plane));
  constexpr int64_t stride = G::out_nchw ? G::plane : 1;
  Out* to = G::out_nchw ? out + (int64_t{sample} * G::filters + filter) * G::plane + within
                        : out + pixel * G::filters + filter;
  if constexpr (pairs && !G::out_nchw) {
    *reinterpret_cast<Pack<Out, 2>*>(to) = {{static_cast<Out>(epilogue(first, sample, filter, within)),
                                             static_cast<Out>(epilogue(second, sample, filter + 1, within))}};
  } else {
    to[0] = static_cast<Out>(epilogue(first, sample, filter, within));
    if (filter + 1 < G::filters) to[stride] = static_cast<Out>(epilogue(second, sample, filter + 1, within));
  }
}

// Four tiles of eight filters each, of one pixel: lanes of a quad have two of each tile's, and exchange them,
// so that each stores eight of one tile. 16-bit results alone: two of those are half a sector of memory.
template <class G, class Out, class Epilogue>
__device__ __forceinline__ void finish_nhwc_quad(Out* __restrict__ out, int64_t pixel, int first_filter,
                                                 int pair, const float (&first)[4], const float (&second)[4],
                                                 const Epilogue& epilogue) {
  using Flat = flat_index_t<G::pixels>;
  const int64_t there = pixel < G::pixels ? pixel : G::pixels - 1;
  const int sample = static_cast<int>(static_cast<Flat>(there) / static_cast<Flat>(G::plane)),
            within = static_cast<int>(static_cast<Flat>(there) % static_cast<Flat>(G::plane));
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
  if (pixel < G::pixels)
    *reinterpret_cast<NhwcWords*>(out + pixel * G::filters + first_filter + 8 * pair) = mine;
}

// `vectors`: 16 bytes of channels and of filters lie at multiples of their size. `gate`: if gated.
template <class G, class T, bool exact, bool gated, bool vectors, class Gate, class Out, class Epilogue>
__global__ void __launch_bounds__(NhwcTile<G, T, exact>::threads)
    pointwise_nhwc_kernel(const T* __restrict__ x, const Gate* __restrict__ gate,
                          const T* __restrict__ packed, Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = NhwcTile<G, T, exact>;
  constexpr int pixel_tiles = G::pixel_tiles, filter_tiles = G::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), row = lane / 4, pair = lane % 4;
  const int warp = static_cast<int>(threadIdx.x / 32), depth = warp % G::depth_warps,
            tile_warp = warp / G::depth_warps;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices);
  int64_t unit =
      static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::tile_warps * Tile::repeats + tile_warp;
  if (G::depth_warps == 1 && unit >= Tile::units) return;
  const int first_step = depth * Tile::own_steps;

  const T* rows[pixel_tiles][2];  // those past the last look at the last
  const Gate* gates[pixel_tiles][2];
  auto look_at = [&](int64_t of) {
#pragma unroll
    for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        using Flat = flat_index_t<G::pixels + Tile::pixels * Tile::tile_warps * Tile::repeats>;
        const Flat wanted = static_cast<Flat>(of * Tile::pixels + p * 16 + h * 8 + row),
                   last = static_cast<Flat>(G::pixels - 1), pixel = wanted < last ? wanted : last;
        const int64_t sample = static_cast<int64_t>(pixel / static_cast<Flat>(G::plane)),
                      within = static_cast<int64_t>(pixel % static_cast<Flat>(G::plane));
        rows[p][h] = x + (G::x_nchw ? sample * G::channels * G::plane + within
                                    : static_cast<int64_t>(pixel) * G::channels);
        if constexpr (gated) gates[p][h] = gate + sample * G::channels;
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
          next[s][p][h] = load_words<G, Tile, vectors, Tile::x_stride>(rows[p][h], channel);
          if constexpr (gated) next_gate[s][p][h] = load_gate<G, Tile, vectors>(gates[p][h], channel);
        }
  };
  fetch(0);

  const NhwcWords* weights = reinterpret_cast<const NhwcWords*>(packed) +
                             int64_t{slice} * Tile::steps * filter_tiles * Tile::parts * 32 + lane;
  const T* filters[filter_tiles];  // of raw weights; those past the last look at the last
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f) {
    const int filter = (slice * filter_tiles + f) * 8 + row;
    filters[f] = packed + int64_t{filter < G::filters ? filter : G::filters - 1} * G::channels;
  }
#pragma unroll 1
  for (int repeat = 0; repeat < Tile::repeats; ++repeat) {
    const int64_t first_pixel = unit * Tile::pixels;
    unit += Tile::tile_warps;
    const bool more = repeat + 1 < Tile::repeats && unit < Tile::units;
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
        if (Tile::own_steps * G::depth_warps != Tile::steps && step >= Tile::steps) break;
        NhwcWords operands[filter_tiles][Tile::parts];
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
          for (int part = 0; part < Tile::parts; ++part)
            if constexpr (G::raw_weights)
              operands[f][part] =
                  load_words<G, Tile, vectors, 1>(filters[f], step * Tile::step_channels + pair * Tile::each);
            else
              operands[f][part] = weights[((step * filter_tiles + f) * Tile::parts + part) * 32];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          MmaLeft high[pixel_tiles], low[pixel_tiles];
#pragma unroll
          for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              uint32_t word = here[s][p][i % 2][2 * k + i / 2];
              if constexpr (gated) word = gated_word<T>(word, here_gate[s][p][i % 2], 2 * k + i / 2);
              if constexpr (!std::is_same_v<T, float>) {
                high[p].parts[i] = word;
              } else {
                const float value = __uint_as_float(word);
                high[p].parts[i] = tf32_bits(value);
                if constexpr (exact) low[p].parts[i] = tf32_bits(value - __uint_as_float(high[p].parts[i]));
              }
            }
          if constexpr (exact) {
#pragma unroll
            for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
              for (int p = 0; p < pixel_tiles; ++p) {
                mma_of<T>(sums[p][f], high[p], weight_operand<G, T, Tile, true>(operands[f], k));
                mma_of<T>(sums[p][f], low[p], weight_operand<G, T, Tile, false>(operands[f], k));
              }
          }
#pragma unroll
          for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
            for (int p = 0; p < pixel_tiles; ++p)
              mma_of<T>(sums[p][f], high[p], weight_operand<G, T, Tile, false>(operands[f], k));
        }
      }
    }

    // A tile's sums: columns 2 · pair and the next one, of rows `row` and 8 below.
    auto finish = [&](int p, int f, const float(&tile)[4]) {
      const int filter = (slice * filter_tiles + f) * 8 + 2 * pair;
#pragma unroll
      for (int h = 0; h < 2; ++h)
        finish_nhwc<G, vectors && G::filters % 2 == 0>(out, first_pixel + p * 16 + h * 8 + row, filter,
                                                       tile[2 * h], tile[2 * h + 1], epilogue);
    };
    if constexpr (G::depth_warps == 1) {
#pragma unroll
      for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f) {
          constexpr bool quads = vectors && !G::out_nchw && sizeof(Out) == 2 && G::filters % 8 == 0;
          const int first_filter = (slice * filter_tiles + f) * 8;
          if (quads && f % 4 == 0 && f + 4 <= filter_tiles && first_filter + 32 <= G::filters) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
              float first[4], second[4];
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                const int tile = f + i < filter_tiles ? f + i : 0;  // a constant once unrolled
                first[i] = sums[p][tile][2 * h], second[i] = sums[p][tile][2 * h + 1];
              }
              if constexpr (quads)
                finish_nhwc_quad<G>(out, first_pixel + p * 16 + h * 8 + row, first_filter, pair, first,
                                    second, epilogue);
            }
          } else if (!(quads && f / 4 * 4 + 4 <= filter_tiles &&
                       (slice * filter_tiles + f / 4 * 4) * 8 + 32 <= G::filters)) {
            finish(p, f, sums[p][f]);
          }
        }
      if (!more) return;
    } else {
      __shared__ Pack<float, 4> partial[Tile::tile_warps][G::depth_warps][Tile::tiles][32];
#pragma unroll
      for (int p = 0; p < pixel_tiles; ++p)
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f)
          partial[tile_warp][depth][p * filter_tiles + f][lane] = {
              {sums[p][f][0], sums[p][f][1], sums[p][f][2], sums[p][f][3]}};
      __syncthreads();
      for (int tile = depth; tile < Tile::tiles; tile += G::depth_warps) {
        float total[4] = {};
#pragma unroll
        for (int d = 0; d < G::depth_warps; ++d) {
          const Pack<float, 4> part = partial[tile_warp][d][tile][lane];
#pragma unroll
          for (int i = 0; i < 4; ++i) total[i] += part[i];
        }
        finish(tile / filter_tiles, tile % filter_tiles, total);
      }
    }
  }
}

// Rows and columns of a product as its position. Pairs of TF32 mix up infinities (inf - inf): such sums are
// made again, one product after the other.
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

template <class G, class T, bool exact, bool gated, class Gate, class Out, class Epilogue>
StitchStatus enqueue_nhwc(const char* name, const T* x, const Gate* gate, const T* packed, Out* out,
                          Epilogue epilogue, cudaStream_t stream) {
  using Tile = NhwcTile<G, T, exact>;
  const Geometry geometry{
      static_cast<unsigned>(divide_up(Tile::units, int64_t{Tile::tile_warps} * Tile::repeats) * Tile::slices),
      Tile::threads};
  if constexpr (G::channels % Tile::each == 0)
    if (is_aligned(x, 16) && is_aligned(gate, 16) && is_aligned(packed, 16) && is_aligned(out, 16))
      return launch(name, pointwise_nhwc_kernel<G, T, exact, gated, true, Gate, Out, Epilogue>, geometry,
                    stream, x, gate, packed, out, epilogue);
  return launch(name, pointwise_nhwc_kernel<G, T, exact, gated, false, Gate, Out, Epilogue>, geometry, stream,
                x, gate, packed, out, epilogue);
}
template <class G, class T, bool exact, class Out, class Epilogue>
StitchStatus enqueue_pointwise_nhwc(const char* name, const T* x, const T* packed, Out* out,
                                    Epilogue epilogue, cudaStream_t stream) {
  constexpr const T* none = nullptr;
  return enqueue_nhwc<G, T, exact, false>(name, x, none, packed, out, epilogue, stream);
}
// out (rows, columns) = x (rows, depth) · weight (columns, depth)': at FP32's accuracy, the weight as it
// lies. The epilogue is asked for (value, position).
template <class G, class Epilogue>
StitchStatus enqueue_thin_product(const char* name, const float* x, const float* weight, float* out,
                                  Epilogue epilogue, cudaStream_t stream) {
  return enqueue_pointwise_nhwc<G, float, true>(
      name, x, weight, out, AtPosition<Epilogue, G::filters, G::channels>{epilogue, x, weight}, stream);
}
// `gate` (samples, channels)
template <class G, class T, bool exact, class Gate, class Out, class Epilogue>
StitchStatus enqueue_gated_nhwc(const char* name, const T* x, const Gate* gate, const T* packed, Out* out,
                                Epilogue epilogue, cudaStream_t stream) {
  return enqueue_nhwc<G, T, exact, true>(name, x, gate, packed, out, epilogue, stream);
}

}  // namespace stitch
