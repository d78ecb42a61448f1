// Convolutions as implicit GEMMs on NCHW FP32 images, on fp16 tensor cores, without transposing input or
// output. A block of four warps computes up to 128 filters of 128 or 256 pixels. The part of x under the tile
// (the halo) is read once, rounded to fp16 and kept in shared memory, eight channels of a pixel together: an
// octet, 16 bytes, one row of an ldmatrix. A step of the product takes two octets of any taps, so that 8
// channels fill the depth as well as 64; with four channels or fewer an octet also holds adjacent taps.
// Filters are packed once and come through a three-stage pipeline (cp.async). Results go through shared
// memory, a row of pixels at a time, with the epilogue.
// `exact`: FP32 accuracy by three products of halves, as in conv_split_halo.h; otherwise one, with TF32's ten
// bits. Channels beyond a chunk are processed chunk by chunk, the next one prefetched into registers.
// Strided transposed convolutions: outputs with the same position modulo the stride (a phase) use the same
// taps; one pass over the tile per phase.
//   struct ConvReluImage {  // y (128, 128, 126, 126) = x (128, 64, 128, 128) * weight (128, 64, 3, 3)
//     using In = float;  …
//     static constexpr int samples = 128, channels = 64, filters = 128, chunk = 8;  // a chunk's octets
//     static constexpr int tile_z = 1, tile_y = 4, tile_x = 32;
//     static constexpr int size_in_z = 1, size_out_z = 1, result_z = 1;  // pixels; and of all phases
//     static constexpr int kernel_z = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
//     static constexpr int phases_z = 1, before_z = 0, weights_z = 1;  // phases · pixel + phase - before
//     …  // the same along y and x
//     static constexpr int64_t x_stride_sample = …, out_stride_sample = …, weight_stride_filter = …;
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/loops/math.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class Layer, bool exact>
struct ImplicitTile {
  static constexpr __host__ __device__ int round_up(int count, int by) { return (count + by - 1) / by * by; }
  static constexpr __host__ __device__ int divided(int count, int by) { return (count + by - 1) / by; }

  static constexpr int threads = 128, parts = exact ? 2 : 1;
  static constexpr int slices = divided(Layer::filters, 128),
                       slice = round_up(divided(Layer::filters, slices), 16);
  static constexpr int filter_warps = slice > 64 ? 2 : 1, pixel_warps = 4 / filter_warps;
  static constexpr int filter_tiles = divided(slice, 16 * filter_warps);  // of 16 filters, per warp
  static constexpr int filters = filter_tiles * 16 * filter_warps;        // per block
  static constexpr int pixels = pixel_warps * 64;
  static_assert(Layer::tile_z * Layer::tile_y * Layer::tile_x == pixels && Layer::tile_x % 8 == 0);

  // Channels of one tap in an octet, and adjacent taps.
  static constexpr int octet_channels = Layer::channels > 4 ? 8 : Layer::channels > 2 ? 4 : Layer::channels;
  static constexpr int octet_taps = 8 / octet_channels;
  static constexpr int octets = divided(Layer::channels, octet_channels),
                       chunks = divided(octets, Layer::chunk);

  static constexpr int halo_z =
      (Layer::tile_z - 1) * Layer::stride_z + (Layer::kernel_z - 1) * Layer::dilation_z + 1;
  static constexpr int halo_y =
      (Layer::tile_y - 1) * Layer::stride_y + (Layer::kernel_y - 1) * Layer::dilation_y + 1;
  static constexpr int halo_x =
      (Layer::tile_x - 1) * Layer::stride_x + (Layer::kernel_x - 1) * Layer::dilation_x + 1;
  static constexpr int halo = halo_z * halo_y * halo_x;

  // Phases of a transposed convolution; if one has fewer taps along an axis, they are the last ones.
  static constexpr int phases = Layer::phases_z * Layer::phases_y * Layer::phases_x;
  static constexpr __host__ __device__ int taps_of(int weights, int phase, int stride) {
    return phase < weights ? divided(weights - phase, stride) : 0;
  }
  struct Phase {
    int z, y, x;
    constexpr __host__ __device__ int taps_z() const { return taps_of(Layer::weights_z, z, Layer::phases_z); }
    constexpr __host__ __device__ int taps_y() const { return taps_of(Layer::weights_y, y, Layer::phases_y); }
    constexpr __host__ __device__ int taps_x() const { return taps_of(Layer::weights_x, x, Layer::phases_x); }
    constexpr __host__ __device__ int groups_x() const { return divided(taps_x(), octet_taps); }
    constexpr __host__ __device__ int octets() const {
      return taps_z() * taps_y() * groups_x() * Layer::chunk;
    }
    constexpr __host__ __device__ int steps() const { return divided(octets(), 2); }
  };
  static constexpr __host__ __device__ Phase phase_of(int p) {
    return {p / (Layer::phases_y * Layer::phases_x), p / Layer::phases_x % Layer::phases_y,
            p % Layer::phases_x};
  }
  static constexpr int most_steps = phase_of(0).steps();
  static constexpr int step_elements = parts * 2 * filters * 8;
  static constexpr int stage_limit = 8192 / step_elements > 1 ? 8192 / step_elements : 1;
  static constexpr int stage_steps = divided(most_steps, divided(most_steps, stage_limit));
  static constexpr int stage_elements = stage_steps * step_elements, ring = 3;
  static constexpr __host__ __device__ int stages_of(int phase) {
    return divided(phase_of(phase).steps(), stage_steps);
  }
  // Layout of packed filters: (slices, phases, chunks, stages).
  static constexpr __host__ __device__ int stages_before(int phase) {
    int sum = 0;
    for (int p = 0; p < phase; ++p) sum += stages_of(p);
    return sum * chunks;
  }
  static constexpr int slice_stages = stages_before(phases), stages = slices * slice_stages;
  static constexpr int64_t packed = int64_t{stages} * stage_elements;

  static constexpr uint32_t none = 0xffffffu;  // an octet of padding
  static constexpr int pitch = 40;             // of staged floats: pairs of four rows in different banks
  // The next chunk of channels is prefetched during the product.
  static constexpr int halos = chunks > 1 ? 2 : 1, own_units = divided(halo * Layer::chunk, threads);
  static constexpr int halo_rows = parts * Layer::chunk * halo, halo_bytes = halos * halo_rows * 16,
                       ring_bytes = ring * stage_elements * 2;
  static constexpr int table_bytes = round_up(16 + phases * most_steps * 2 * 4, 128);  // after a row of zeros
  static constexpr int shared_bytes = halo_bytes + ring_bytes + table_bytes + 4 * 16 * pitch * 4;

  static constexpr int low = 2048;  // low parts' scale
  static constexpr float weight_scale = exact ? 1.0f / 64 : 8.0f, x_scale = exact ? 1.0f / 16 : 1.0f;
  static constexpr float result_scale = 1.0f / (weight_scale * x_scale * (exact ? low : 1.0f));

  // Of one image.
  int tiles_z, tiles_y, tiles_x;
  __host__ __device__ explicit constexpr ImplicitTile(Layer layer)
      : tiles_z(divided(layer.size_out_z, Layer::tile_z)),
        tiles_y(divided(layer.size_out_y, Layer::tile_y)),
        tiles_x(divided(layer.size_out_x, Layer::tile_x)) {}
};

template <class Layer, bool exact>
struct ImplicitPacking {
  static constexpr int64_t count = ImplicitTile<Layer, exact>::packed;
  template <class Weight>
  __device__ static __half element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = ImplicitTile<Layer, exact>;
    const int element = static_cast<int>(i % 8), row = static_cast<int>(i / 8 % Tile::filters),
              half_of_step = static_cast<int>(i / (8 * Tile::filters) % 2);
    const bool low = i / (16 * Tile::filters) % Tile::parts;
    const int in_stage = static_cast<int>(i / Tile::step_elements % Tile::stage_steps),
              stage = static_cast<int>(i / Tile::stage_elements % Tile::slice_stages),
              slice = static_cast<int>(i / Tile::stage_elements / Tile::slice_stages);
    int p = 0;
    while (stage >= Tile::stages_before(p + 1)) ++p;
    const auto phase = Tile::phase_of(p);
    const int of_phase = stage - Tile::stages_before(p), stages = Tile::stages_of(p);
    const int octet = (of_phase % stages * Tile::stage_steps + in_stage) * 2 + half_of_step;
    const int channel = (of_phase / stages * Layer::chunk + octet % Layer::chunk) * Tile::octet_channels +
                        element % Tile::octet_channels;
    const int tap = octet / Layer::chunk, groups = phase.groups_x();
    const int at_x = tap % groups * Tile::octet_taps + element / Tile::octet_channels,
              at_y = tap / groups % phase.taps_y(), at_z = tap / (groups * phase.taps_y());
    const int filter = slice * Tile::slice + row;
    float value = 0.0f;
    if (octet < phase.octets() && filter < Layer::filters && row < Tile::slice && channel < Layer::channels &&
        at_x < phase.taps_x()) {
      // A transposed convolution's last tap is the first of its weights.
      const int z = Layer::transposed ? phase.z + (phase.taps_z() - 1 - at_z) * Layer::phases_z : at_z,
                y = Layer::transposed ? phase.y + (phase.taps_y() - 1 - at_y) * Layer::phases_y : at_y,
                x = Layer::transposed ? phase.x + (phase.taps_x() - 1 - at_x) * Layer::phases_x : at_x;
      value = static_cast<float>(weight[Layer::weight_offset + filter * Layer::weight_stride_filter +
                                        channel * Layer::weight_stride_channel + z * Layer::weight_stride_z +
                                        y * Layer::weight_stride_y + x * Layer::weight_stride_x]);
    }
    value *= Tile::weight_scale;
    return __float2half(exact ? half_part(value, low) * Tile::low : value);
  }
};
template <class Layer, bool exact>
StitchStatus pack_implicit(const typename Layer::Weight* weight, __half* packed, cudaStream_t stream) {
  return pack_weight<ImplicitPacking<Layer, exact>>("pack_implicit", weight, packed, stream);
}

// The halo of the tile at `corner` of a sample, as (parts, octets, pixels) of 16 bytes. Each thread loads
// `count` octets, `threads` apart, into registers, then stores them to shared memory.
template <class Layer, bool exact, int count>
struct ImplicitHalo {
  using Tile = ImplicitTile<Layer, exact>;
  static constexpr int units = Tile::halo * Layer::chunk;
  float values[count][8];

  __device__ __forceinline__ void fetch(Layer layer, const typename Layer::In* __restrict__ from, int3 corner,
                                        int first_octet, int first) {
    const int stride_z = static_cast<int>(layer.x_stride_z), stride_y = static_cast<int>(layer.x_stride_y),
              stride_x = static_cast<int>(layer.x_stride_x),
              stride_c = static_cast<int>(layer.x_stride_channel);
    constexpr bool whole = Layer::channels % Tile::octet_channels == 0 && Tile::octets % Layer::chunk == 0;
#pragma unroll
    for (int u = 0; u < count; ++u) {
      const int i = first + u * Tile::threads, octet = i / Tile::halo, pixel = i % Tile::halo;
      const int z = corner.z * Layer::stride_z - Layer::padding_z + pixel / (Tile::halo_y * Tile::halo_x),
                y = corner.y * Layer::stride_y - Layer::padding_y + pixel / Tile::halo_x % Tile::halo_y,
                x = corner.x * Layer::stride_x - Layer::padding_x + pixel % Tile::halo_x;
      const bool inside = i < units && z >= 0 && z < layer.size_in_z && y >= 0 && y < layer.size_in_y;
      const int first_channel = (first_octet + octet) * Tile::octet_channels;
      const int at = z * stride_z + y * stride_y + first_channel * stride_c;
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int at_x = x + e / Tile::octet_channels * Layer::dilation_x, channel = e % Tile::octet_channels;
        const bool valid = inside && at_x >= 0 && at_x < layer.size_in_x &&
                           (whole || first_channel + channel < Layer::channels);
        values[u][e] = valid ? static_cast<float>(from[at + at_x * stride_x + channel * stride_c]) : 0.0f;
      }
    }
  }
  __device__ __forceinline__ void keep(Pack<uint32_t, 4>* __restrict__ halo, int first) const {
#pragma unroll
    for (int u = 0; u < count; ++u) {
      const int i = first + u * Tile::threads;
      if (i >= units) break;
      Pack<uint32_t, 4> high, low;
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float one = values[u][2 * p] * Tile::x_scale, other = values[u][2 * p + 1] * Tile::x_scale;
        if constexpr (exact) {
          const HalfPairs split = split_halves_keeping_infinities<Tile::low>(one, other);
          high[p] = split.high, low[p] = split.low;
        } else {
          high[p] = half_pair(one, other);
        }
      }
      halo[i] = high;
      if constexpr (exact) halo[units + i] = low;
    }
  }
};

// A pool after the epilogue, over non-overlapping windows of pool_y x pool_x pixels, powers of two inside a
// warp's 64 pixels: reduced by shuffles between lanes whose pixels differ in those bits.
template <class Layer, bool exact, class Sums, class Epilogue>
__device__ __forceinline__ void pool_implicit(Layer layer, const Sums& sums, float* stage,
                                              typename Layer::Out* __restrict__ out, const Epilogue& epilogue,
                                              int sample, int slice, int3 corner, int first_filter,
                                              int first_pixel) {
  using Tile = ImplicitTile<Layer, exact>;
  constexpr int window_bits =
      (Layer::pool_x - 1) | (Layer::pool_y - 1) * Layer::tile_x;  // bits of the pixel index
  static_assert(window_bits < 64 && Tile::phases == 1);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  auto combine = [](float a, float b) { return Layer::pool_max ? maximum(a, b) : a + b; };
#pragma unroll
  for (int f = 0; f < Tile::filter_tiles; ++f) {
    const int first = slice * Tile::slice + first_filter + f * 16;
    const int filter_count = min(16, min(Tile::slice - first_filter - f * 16, Layer::filters - first));
    if (filter_count <= 0) continue;
    float pooled[16];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int pixel = first_pixel + h * 32 + lane;
      const int x = corner.x + pixel % Layer::tile_x, y = corner.y + pixel / Layer::tile_x % Layer::tile_y,
                z = corner.z + pixel / (Layer::tile_x * Layer::tile_y);
      const bool inside = x < layer.result_x && y < layer.result_y && z < layer.result_z;
      // Windows that end outside aren't written and read a valid position.
      const int position = inside ? (z * layer.result_y + y) * layer.result_x + x : 0;
      stage_sums<Tile::pitch>(stage, sums[f], h);
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int filter = min(i, filter_count - 1);
        float value = epilogue(stage[filter * Tile::pitch + lane] * Tile::result_scale, sample,
                               first + filter, position);
#pragma unroll
        for (int bit = 1; bit < 32; bit *= 2)
          if (window_bits & bit) value = combine(value, __shfl_xor_sync(0xffffffffu, value, bit));
        pooled[i] = h == 1 && (window_bits & 32) ? combine(pooled[i], value) : value;
      }
      const int to_x = x / Layer::pool_x, to_y = y / Layer::pool_y;
      if ((h == 0 && (window_bits & 32)) || (lane & window_bits & 31) != 0 ||
          to_x >= layer.result_x / Layer::pool_x || to_y >= layer.result_y / Layer::pool_y ||
          z >= layer.result_z)
        continue;
      // The other half's rows belong to the same windows.
      typename Layer::Out* own =
          out + (layer.out_offset + sample * layer.out_stride_sample + z * layer.out_stride_z +
                 to_y * layer.out_stride_y + to_x * layer.out_stride_x);
      constexpr float scale = Layer::pool_max ? 1.0f : 1.0f / (Layer::pool_y * Layer::pool_x);
#pragma unroll
      for (int i = 0; i < 16; ++i)
        if (i < filter_count)
          own[(first + i) * layer.out_stride_channel] = static_cast<typename Layer::Out>(pooled[i] * scale);
    }
  }
}

// The epilogue and stores of a phase: 16 filters of 32 pixels at a time, one pixel per lane. `packs`: eight
// filters of an aligned NHWC result at once.
template <class Layer, bool exact, bool packs, class Sums, class Epilogue>
__device__ __forceinline__ void store_implicit(Layer layer, const Sums& sums, float* stage,
                                               typename Layer::Out* __restrict__ out,
                                               const Epilogue& epilogue, int sample, int slice,
                                               const typename ImplicitTile<Layer, exact>::Phase& phase,
                                               int3 corner, int first_filter, int first_pixel) {
  using Tile = ImplicitTile<Layer, exact>;
  constexpr bool whole = Layer::filters % 16 == 0 && Tile::slice == Tile::filters;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int pixel = first_pixel + h * 32 + lane;
    const int at_x = corner.x + pixel % Layer::tile_x,
              at_y = corner.y + pixel / Layer::tile_x % Layer::tile_y,
              at_z = corner.z + pixel / (Layer::tile_x * Layer::tile_y);
    const int out_x = at_x * Layer::phases_x + phase.x - Layer::before_x,
              out_y = at_y * Layer::phases_y + phase.y - Layer::before_y,
              out_z = at_z * Layer::phases_z + phase.z - Layer::before_z;
    const bool valid = at_x < layer.size_out_x && at_y < layer.size_out_y && at_z < layer.size_out_z &&
                       out_x >= 0 && out_x < layer.result_x && out_y >= 0 && out_y < layer.result_y &&
                       out_z >= 0 && out_z < layer.result_z;
    const int position = (out_z * layer.result_y + out_y) * layer.result_x + out_x;
    typename Layer::Out* own =
        out + (layer.out_offset + sample * layer.out_stride_sample + out_z * layer.out_stride_z +
               out_y * layer.out_stride_y + out_x * layer.out_stride_x);
#pragma unroll
    for (int f = 0; f < Tile::filter_tiles; ++f) {
      const int first = slice * Tile::slice + first_filter + f * 16;
      const int filter_count =
          whole ? 16 : min(16, min(Tile::slice - first_filter - f * 16, Layer::filters - first));
      if (!whole && filter_count <= 0) continue;
      stage_sums<Tile::pitch>(stage, sums[f], h);
      if (!valid) continue;
#pragma unroll
      for (int begin = 0; begin < 16; begin += 8) {  // the epilogue's loads are issued together
        Pack<typename Layer::Out, 8> results;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int filter = whole ? begin + i : min(begin + i, filter_count - 1);
          results[i] = static_cast<typename Layer::Out>(epilogue(
              stage[filter * Tile::pitch + lane] * Tile::result_scale, sample, first + filter, position));
        }
        if constexpr (packs && whole) {
          store<8>(own + (first + begin), 0, results);
        } else if constexpr (Layer::scatters) {
          const int64_t plane = int64_t{layer.result_z} * layer.result_y * layer.result_x;
#pragma unroll
          for (int i = 0; i < 8; ++i)
            if (whole || begin + i < filter_count)
              out[layer.scattered((int64_t{sample} * Layer::filters + first + begin + i) * plane +
                                  position)] = results[i];
        } else {
#pragma unroll
          for (int i = 0; i < 8; ++i)
            if (whole || begin + i < filter_count)
              own[(first + begin + i) * layer.out_stride_channel] = results[i];
        }
      }
    }
  }
}

// Start of each step's octets relative to a pixel, and how many of their eight elements are valid.
template <class Tile, class Layer>
__device__ __forceinline__ uint32_t octet_entry(const typename Tile::Phase& phase, int octet) {
  uint32_t entry = Tile::none;
  if (octet < phase.octets()) {
    const int tap = octet / Layer::chunk, groups = phase.groups_x();
    const int at_x = tap % groups * Tile::octet_taps, at_y = tap / groups % phase.taps_y(),
              at_z = tap / (groups * phase.taps_y());
    // A phase with fewer taps lacks the first ones.
    const int z = Layer::kernel_z - phase.taps_z() + at_z, y = Layer::kernel_y - phase.taps_y() + at_y,
              left = Layer::kernel_x - phase.taps_x() + at_x;
    const int offset = octet % Layer::chunk * Tile::halo +
                       (z * Layer::dilation_z * Tile::halo_y + y * Layer::dilation_y) * Tile::halo_x +
                       left * Layer::dilation_x;
    const int valid = min(Tile::octet_taps, phase.taps_x() - at_x) * Tile::octet_channels;
    entry = static_cast<uint32_t>(offset) | static_cast<uint32_t>(valid) << 24;
  }
  return entry;
}

// sums += a step's product. Each lane supplies the address of one row of an ldmatrix: a filter's, from
// `filters` on, or a pixel's octet. `entries`: of the step's two octets.
template <class Layer, bool exact, class Sums, class Row>
__device__ __forceinline__ void multiply_step(Sums& sums, const Row* filters, const uint32_t* entries,
                                              const Row* halo, const Row* zeros, const int (&starts)[4]) {
  using Tile = ImplicitTile<Layer, exact>;
  constexpr int filter_tiles = Tile::filter_tiles;
  // Elements without a tap would be multiplied by zero weights, which gives NaN for infinities.
  constexpr bool masked =
      Tile::octet_taps > 1 && Layer::weights_x % (Tile::octet_taps * Layer::phases_x) != 0;
  constexpr bool ragged = Layer::chunk % 2 != 0;
  const int lane = static_cast<int>(threadIdx.x) % 32, pair = lane % 4;
  const uint32_t entry = entries[lane / 8 % 2];
  const bool none = ragged && entry == Tile::none;
  const Row* octet = halo + (entry & 0xffffffu);
  MmaLeft left[filter_tiles], fine[filter_tiles], rest[filter_tiles];
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f) {
    load_matrices(left[f].parts, filters + f * 16);
    if constexpr (exact) {
      load_matrices(rest[f].parts, filters + f * 16 + 2 * Tile::filters);
#pragma unroll
      for (int i = 0; i < 4; ++i) fine[f].parts[i] = scaled_pair(left[f].parts[i], 1.0f / Tile::low);
    }
  }
  uint32_t mask[2] = {~0u, ~0u};
  if constexpr (masked) {
#pragma unroll
    for (int o = 0; o < 2; ++o) {
      const int valid = static_cast<int>(entries[o] >> 24);
      mask[o] = (2 * pair < valid ? 0xffffu : 0u) | (2 * pair + 1 < valid ? 0xffff0000u : 0u);
    }
  }
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    uint32_t high[4], low[4];
    load_matrices(high, none ? zeros : octet + starts[q]);
    if constexpr (exact) load_matrices(low, none ? zeros : octet + starts[q] + Tile::halo * Layer::chunk);
#pragma unroll
    for (int t = 0; t < 2; ++t) {
      const MmaRight right = {{high[2 * t] & mask[0], high[2 * t + 1] & mask[1]}};
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f) mma(sums[f][2 * q + t], left[f], right);
      if constexpr (exact) {
        const MmaRight little = {{low[2 * t] & mask[0], low[2 * t + 1] & mask[1]}};
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f) mma(sums[f][2 * q + t], fine[f], little);
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f) mma(sums[f][2 * q + t], rest[f], right);
      }
    }
  }
}

template <class Layer, bool exact, bool packs, class Epilogue>
__global__ void __launch_bounds__(ImplicitTile<Layer, exact>::threads,
                                  ImplicitTile<Layer, exact>::filter_tiles <= 2 ? 4 : 2)
    conv_implicit_kernel(const typename Layer::In* __restrict__ x, const __half* __restrict__ packed,
                         typename Layer::Out* __restrict__ out, Epilogue epilogue, Layer layer) {
  wait_for_previous_kernel();
  using Tile = ImplicitTile<Layer, exact>;
  using Row = Pack<uint32_t, 4>;  // of a matrix: eight halves
  extern __shared__ __align__(128) char implicit_shared[];
  auto* halo = reinterpret_cast<Row*>(implicit_shared);
  auto* ring = reinterpret_cast<Row*>(implicit_shared + Tile::halo_bytes);
  auto* zeros = reinterpret_cast<Row*>(implicit_shared + Tile::halo_bytes + Tile::ring_bytes);
  auto* table = reinterpret_cast<uint32_t*>(zeros + 1);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int first_filter = warp % Tile::filter_warps * Tile::filter_tiles * 16,
            first_pixel = warp / Tile::filter_warps * 64;
  auto* stage =
      reinterpret_cast<float*>(implicit_shared + Tile::halo_bytes + Tile::ring_bytes + Tile::table_bytes) +
      warp * 16 * Tile::pitch;

  const Tile tile(layer);
  const int block = static_cast<int>(blockIdx.x);
  const int3 corner = {block % tile.tiles_x * Layer::tile_x,
                       block / tile.tiles_x % tile.tiles_y * Layer::tile_y,
                       block / (tile.tiles_x * tile.tiles_y) % tile.tiles_z * Layer::tile_z};
  const int sample = block / (tile.tiles_x * tile.tiles_y * tile.tiles_z);

  auto copy_stage = [&](int s) {
    constexpr int rows = Tile::stage_elements / 8;
    const Row* from = reinterpret_cast<const Row*>(packed) + static_cast<int64_t>(s) * rows;
    Row* to = ring + s % Tile::ring * rows;
    if (s < Tile::stages)
      for (int i = thread; i < rows; i += Tile::threads) copy_16_bytes(to + i, from + i, true);
    close_copies();
  };
  copy_stage(0);
  copy_stage(1);

  if (thread == 0) *zeros = {};
  constexpr int phase_octets = Tile::most_steps * 2;
  for (int i = thread; i < Tile::phases * phase_octets; i += Tile::threads)
    table[i] = octet_entry<Tile, Layer>(Tile::phase_of(i / phase_octets), i % phase_octets);

  int starts[4];  // in the halo, of 16 pixels each
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const int pixel = first_pixel + q * 16 + lane / 16 * 8 + lane % 8;
    const int at_x = pixel % Layer::tile_x, at_y = pixel / Layer::tile_x % Layer::tile_y,
              at_z = pixel / (Layer::tile_x * Layer::tile_y);
    starts[q] = (at_z * Layer::stride_z * Tile::halo_y + at_y * Layer::stride_y) * Tile::halo_x +
                at_x * Layer::stride_x;
  }
  const int own_filter = lane / 16 * Tile::filters + first_filter + lane % 16;
  constexpr bool full_stages = Tile::phases == 1 && Tile::most_steps % Tile::stage_steps == 0;

  const typename Layer::In* own_x = x + (layer.x_offset + sample * layer.x_stride_sample);
  using Halo = ImplicitHalo<Layer, exact, (Tile::chunks > 1 ? Tile::own_units : 4)>;
  Halo next;
  constexpr int at_once = (Tile::chunks > 1 ? Tile::own_units : 4) * Tile::threads;
  for (int first = thread; first < Halo::units; first += at_once) {
    next.fetch(layer, own_x, corner, 0, first);
    next.keep(halo, first);
  }

  int at = 0, turn = 0;  // pipeline stage, halo buffer
  for (int slice = 0; slice < Tile::slices; ++slice)
    for (int p = 0; p < Tile::phases; ++p) {
      const int steps = Tile::phase_of(p).steps(), stages = Tile::stages_of(p);
      float sums[Tile::filter_tiles][8][4] = {};
      // A phase without taps skips the pipeline and leaves the halo unchanged.
      for (int chunk = stages > 0 ? 0 : Tile::chunks; chunk < Tile::chunks; ++chunk) {
        const Row* here = halo + turn * Tile::halo_rows;
        const bool last_chunk = chunk + 1 == Tile::chunks;
        const bool more =
            Tile::chunks > 1 && !(last_chunk && p + 1 == Tile::phases && slice + 1 == Tile::slices);
        if (more) next.fetch(layer, own_x, corner, last_chunk ? 0 : (chunk + 1) * Layer::chunk, thread);
        for (int s = 0; s < stages; ++s, ++at) {
          wait_for_copies<1>();
          __syncthreads();
          copy_stage(at + 2);
          const Row* filters = ring + at % Tile::ring * (Tile::stage_elements / 8) + own_filter;
          const uint32_t* entries = table + p * phase_octets + s * Tile::stage_steps * 2;
#pragma unroll
          for (int step = 0; step < Tile::stage_steps; ++step) {
            if (!full_stages && s * Tile::stage_steps + step >= steps) break;
            multiply_step<Layer, exact>(sums, filters + step * (Tile::step_elements / 8), entries + step * 2,
                                        here, zeros, starts);
          }
        }
        if (more) next.keep(halo + (1 - turn) * Tile::halo_rows, thread);
        if (Tile::chunks > 1) turn = 1 - turn;
      }
      if constexpr (Layer::pool_y * Layer::pool_x > 1)
        pool_implicit<Layer, exact>(layer, sums, stage, out, epilogue, sample, slice, corner, first_filter,
                                    first_pixel);
      else
        store_implicit<Layer, exact, packs>(layer, sums, stage, out, epilogue, sample, slice,
                                            Tile::phase_of(p), corner, first_filter, first_pixel);
    }
}
template <bool exact, class Layer, class Epilogue>
StitchStatus enqueue_conv_implicit(const char* name, Layer layer, const typename Layer::In* x,
                                   const __half* packed, typename Layer::Out* out, Epilogue epilogue,
                                   cudaStream_t stream) {
  using Tile = ImplicitTile<Layer, exact>;
  const Tile tile(layer);
  const int64_t blocks = int64_t{layer.samples} * tile.tiles_z * tile.tiles_y * tile.tiles_x;
  const Geometry geometry{blocks_of(blocks), Tile::threads, Tile::shared_bytes};
  if constexpr (Layer::packs_out)
    if (is_aligned(out, 8 * sizeof(typename Layer::Out)))
      return launch(name, conv_implicit_kernel<Layer, exact, true, Epilogue>, geometry, stream, x, packed,
                    out, epilogue, layer);
  return launch(name, conv_implicit_kernel<Layer, exact, false, Epilogue>, geometry, stream, x, packed, out,
                epilogue, layer);
}

}  // namespace stitch
