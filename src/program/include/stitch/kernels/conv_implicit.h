// Convolutions as implicit GEMMs over images as they lie (NCHW, FP32), on fp16 tensor cores: nothing is
// transposed before or behind them. A block of four warps makes a tile of the result, up to 128 filters of
// 128 or 256 pixels. The part of x under the tile is read once, rounded to fp16 and kept in shared memory,
// eight channels of a pixel together: an octet, 16 bytes, which is one row of an ldmatrix. A step of the
// product takes two octets of any taps, so that 8 channels fill the depth as well as 64 do; of four channels
// and fewer an octet holds neighbouring taps, too. Filters are packed once as steps want them and come
// through a ring of three stages (cp.async). Results leave through shared memory, a row of pixels at a time,
// with the epilogue.
// `exact`: FP32's accuracy by three products of halves, as in conv_split_halo.h; else one, with the ten bits
// of TF32. More than a chunk of channels: one chunk after the other, the next on its way into registers.
// Transposed convolutions with strides: results whose position has the same remainder, a phase, see the same
// taps; a pass over the tile each.
//   struct ConvReluImage {  // conv_relu (128, 128, 126, 126) = x (128, 64, 128, 128) * weight (128, 64, 3,
//   3)
//     using In = float;  …
//     static constexpr int samples = 128, channels = 64, filters = 128, chunk = 8;  // a chunk's octets
//     static constexpr int tile_z = 1, tile_y = 4, tile_x = 32;
//     static constexpr int size_in_z = 1, size_out_z = 1, result_z = 1;  // pixels; and of all phases
//     static constexpr int kernel_z = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
//     static constexpr int phases_z = 1, before_z = 0, weights_z = 1;  // result: phases · pixel + phase -
//     before …  // the same along y and x static constexpr int64_t x_stride_sample = …, out_stride_sample =
//     …, weight_stride_filter = …;
//   };
#pragma once

#include "stitch/kernels/loops_math.h"
#include "stitch/kernels/matmul.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class L, bool exact>
struct ImplicitTile {
  static constexpr __host__ __device__ int round_up(int count, int by) { return (count + by - 1) / by * by; }
  static constexpr __host__ __device__ int divided(int count, int by) { return (count + by - 1) / by; }

  static constexpr int threads = 128, parts = exact ? 2 : 1;
  static constexpr int slices = divided(L::filters, 128), slice = round_up(divided(L::filters, slices), 16);
  static constexpr int filter_warps = slice > 64 ? 2 : 1, pixel_warps = 4 / filter_warps;
  static constexpr int filter_tiles = divided(slice, 16 * filter_warps);  // of 16, a warp's
  static constexpr int filters = filter_tiles * 16 * filter_warps;        // a block's
  static constexpr int pixels = pixel_warps * 64;
  static_assert(L::tile_z * L::tile_y * L::tile_x == pixels && L::tile_x % 8 == 0);

  // Channels of one tap in an octet, and neighbouring taps.
  static constexpr int together = L::channels > 4 ? 8 : L::channels > 2 ? 4 : L::channels;
  static constexpr int taps_together = 8 / together;
  static constexpr int octets = divided(L::channels, together), chunks = divided(octets, L::chunk);

  static constexpr int halo_z = (L::tile_z - 1) * L::stride_z + (L::kernel_z - 1) * L::dilation_z + 1;
  static constexpr int halo_y = (L::tile_y - 1) * L::stride_y + (L::kernel_y - 1) * L::dilation_y + 1;
  static constexpr int halo_x = (L::tile_x - 1) * L::stride_x + (L::kernel_x - 1) * L::dilation_x + 1;
  static constexpr int halo = halo_z * halo_y * halo_x;

  // Phases of a transposed convolution, each for itself; taps that one has along an axis are the last ones.
  static constexpr int phases = L::phases_z * L::phases_y * L::phases_x;
  static constexpr __host__ __device__ int taps_of(int weights, int phase, int stride) {
    return phase < weights ? divided(weights - phase, stride) : 0;
  }
  struct Phase {
    int z, y, x;
    constexpr __host__ __device__ int taps_z() const { return taps_of(L::weights_z, z, L::phases_z); }
    constexpr __host__ __device__ int taps_y() const { return taps_of(L::weights_y, y, L::phases_y); }
    constexpr __host__ __device__ int taps_x() const { return taps_of(L::weights_x, x, L::phases_x); }
    constexpr __host__ __device__ int groups_x() const { return divided(taps_x(), taps_together); }
    constexpr __host__ __device__ int octets() const { return taps_z() * taps_y() * groups_x() * L::chunk; }
    constexpr __host__ __device__ int steps() const { return divided(octets(), 2); }
  };
  static constexpr __host__ __device__ Phase phase_of(int p) {
    return {p / (L::phases_y * L::phases_x), p / L::phases_x % L::phases_y, p % L::phases_x};
  }
  static constexpr int most_steps = phase_of(0).steps();
  static constexpr int step_elements = parts * 2 * filters * 8;
  static constexpr int stage_limit = 8192 / step_elements > 1 ? 8192 / step_elements : 1;
  static constexpr int stage_steps = divided(most_steps, divided(most_steps, stage_limit));
  static constexpr int stage_elements = stage_steps * step_elements, ring = 3;
  static constexpr __host__ __device__ int stages_of(int phase) {
    return divided(phase_of(phase).steps(), stage_steps);
  }
  // Filters as they are packed: (slices, phases, chunks, stages).
  static constexpr __host__ __device__ int stages_before(int phase) {
    int sum = 0;
    for (int p = 0; p < phase; ++p) sum += stages_of(p);
    return sum * chunks;
  }
  static constexpr int slice_stages = stages_before(phases), stages = slices * slice_stages;
  static constexpr int64_t packed = int64_t{stages} * stage_elements;

  static constexpr int tiles_z = divided(L::size_out_z, L::tile_z),
                       tiles_y = divided(L::size_out_y, L::tile_y),
                       tiles_x = divided(L::size_out_x, L::tile_x);
  static constexpr int64_t blocks = int64_t{L::samples} * tiles_z * tiles_y * tiles_x;

  static constexpr uint32_t none = 0xffffffu;  // an octet that only fills a step up
  static constexpr int pitch = 40;  // of floats on their way out: pairs of four rows in different banks
  // The next chunk of channels is on its way while one is multiplied.
  static constexpr int halos = chunks > 1 ? 2 : 1, own_units = divided(halo * L::chunk, threads);
  static constexpr int halo_rows = parts * L::chunk * halo, halo_bytes = halos * halo_rows * 16,
                       ring_bytes = ring * stage_elements * 2;
  static constexpr int table_bytes =
      round_up(16 + phases * most_steps * 2 * 4, 128);  // behind a row of zeros
  static constexpr int shared_bytes = halo_bytes + ring_bytes + table_bytes + 4 * 16 * pitch * 4;

  static constexpr float low = 2048.0f, weight_scale = exact ? 1.0f / 64 : 8.0f,
                         x_scale = exact ? 1.0f / 16 : 1.0f;
  static constexpr float result_scale = 1.0f / (weight_scale * x_scale * (exact ? low : 1.0f));
};

template <class L, bool exact>
__global__ void __launch_bounds__(256)
    pack_implicit_kernel(const typename L::Weight* __restrict__ weight, __half* __restrict__ packed) {
  wait_for_previous_kernel();
  using Tile = ImplicitTile<L, exact>;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= Tile::packed) return;
  const int element = static_cast<int>(i % 8), row = static_cast<int>(i / 8 % Tile::filters),
            beside = static_cast<int>(i / (8 * Tile::filters) % 2);
  const bool low = i / (16 * Tile::filters) % Tile::parts;
  const int in_stage = static_cast<int>(i / Tile::step_elements % Tile::stage_steps),
            stage = static_cast<int>(i / Tile::stage_elements % Tile::slice_stages),
            slice = static_cast<int>(i / Tile::stage_elements / Tile::slice_stages);
  int p = 0;
  while (stage >= Tile::stages_before(p + 1)) ++p;
  const auto phase = Tile::phase_of(p);
  const int of_phase = stage - Tile::stages_before(p), stages = Tile::stages_of(p);
  const int octet = (of_phase % stages * Tile::stage_steps + in_stage) * 2 + beside;
  const int channel =
      (of_phase / stages * L::chunk + octet % L::chunk) * Tile::together + element % Tile::together;
  const int tap = octet / L::chunk, groups = phase.groups_x();
  const int at_x = tap % groups * Tile::taps_together + element / Tile::together,
            at_y = tap / groups % phase.taps_y(), at_z = tap / (groups * phase.taps_y());
  const int filter = slice * Tile::slice + row;
  float value = 0.0f;
  if (octet < phase.octets() && filter < L::filters && row < Tile::slice && channel < L::channels &&
      at_x < phase.taps_x()) {
    // A transposed convolution's last tap is the first of its weights.
    const int z = L::transposed ? phase.z + (phase.taps_z() - 1 - at_z) * L::phases_z : at_z,
              y = L::transposed ? phase.y + (phase.taps_y() - 1 - at_y) * L::phases_y : at_y,
              x = L::transposed ? phase.x + (phase.taps_x() - 1 - at_x) * L::phases_x : at_x;
    value = static_cast<float>(
        weight[L::weight_offset + filter * L::weight_stride_filter + channel * L::weight_stride_channel +
               z * L::weight_stride_z + y * L::weight_stride_y + x * L::weight_stride_x]);
  }
  value *= Tile::weight_scale;
  const float high = __half2float(__float2half(value));
  packed[i] = exact ? __float2half((low ? value - high : high) * Tile::low) : __float2half(value);
}
template <class L, bool exact>
StitchStatus pack_implicit(const typename L::Weight* weight, __half* packed, cudaStream_t stream) {
  return launch("pack_implicit", pack_implicit_kernel<L, exact>,
                {static_cast<unsigned>(divide_up(ImplicitTile<L, exact>::packed, 256)), 256}, stream, weight,
                packed);
}

__device__ __forceinline__ uint32_t without_scale(uint32_t pair) {
  const __half2 scaled = __hmul2(*reinterpret_cast<const __half2*>(&pair), __float2half2_rn(1.0f / 2048));
  return *reinterpret_cast<const uint32_t*>(&scaled);
}

// The high parts of two numbers, and in `low` what is left of them, 2048-fold. Infinities and NaN stand in
// the low part alone, which meets w_high and nothing else.
__device__ __forceinline__ uint32_t split_two(float first, float second, uint32_t& low) {
  constexpr float scale = 2048.0f;
  const uint32_t pair = half_pair(first, second);
  const float2 high = float_pair(pair);
  if (isfinite(high.x) && isfinite(high.y)) {
    low = half_pair((first - high.x) * scale, (second - high.y) * scale);
    return pair;
  }
  const float kept[2] = {isfinite(high.x) ? high.x : 0.0f, isfinite(high.y) ? high.y : 0.0f};
  low = half_pair((first - kept[0]) * scale, (second - kept[1]) * scale);
  return half_pair(kept[0], kept[1]);
}

// The part of x under the tile at `corner` of a sample, as (parts, octets, pixels) of 16 bytes: octets of a
// pixel `count` threads' turns from the thread's own on its way into registers, and from there into shared
// memory.
template <class L, bool exact, int count>
struct ImplicitHalo {
  using Tile = ImplicitTile<L, exact>;
  static constexpr int units = Tile::halo * L::chunk;
  float values[count][8];

  __device__ __forceinline__ void fetch(const typename L::In* __restrict__ from, int3 corner, int first_octet,
                                        int first) {
    constexpr int stride_z = static_cast<int>(L::x_stride_z), stride_y = static_cast<int>(L::x_stride_y),
                  stride_x = static_cast<int>(L::x_stride_x),
                  stride_c = static_cast<int>(L::x_stride_channel);
    constexpr bool whole = L::channels % Tile::together == 0 && Tile::octets % L::chunk == 0;
#pragma unroll
    for (int u = 0; u < count; ++u) {
      const int i = first + u * Tile::threads, octet = i / Tile::halo, pixel = i % Tile::halo;
      const int z = corner.z * L::stride_z - L::padding_z + pixel / (Tile::halo_y * Tile::halo_x),
                y = corner.y * L::stride_y - L::padding_y + pixel / Tile::halo_x % Tile::halo_y,
                x = corner.x * L::stride_x - L::padding_x + pixel % Tile::halo_x;
      const bool inside = i < units && z >= 0 && z < L::size_in_z && y >= 0 && y < L::size_in_y;
      const int first_channel = (first_octet + octet) * Tile::together;
      const int at = z * stride_z + y * stride_y + first_channel * stride_c;
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int at_x = x + e / Tile::together * L::dilation_x, channel = e % Tile::together;
        const bool there =
            inside && at_x >= 0 && at_x < L::size_in_x && (whole || first_channel + channel < L::channels);
        values[u][e] = there ? static_cast<float>(from[at + at_x * stride_x + channel * stride_c]) : 0.0f;
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
        if constexpr (exact)
          high[p] = split_two(one, other, low[p]);
        else
          high[p] = half_pair(one, other);
      }
      halo[i] = high;
      if constexpr (exact) halo[units + i] = low;
    }
  }
};

// 16 filters of 32 of a warp's pixels, so that each lane has a pixel.
template <int pitch, int tiles>
__device__ __forceinline__ void stage_sums(float* stage, const float (&sums)[tiles][4], int half) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const float(&sum)[4] = sums[half * 4 + t];
    float* to = stage + lane / 4 * pitch + t * 8 + lane % 4 * 2;
    *reinterpret_cast<Pack<float, 2>*>(to) = {{sum[0], sum[1]}};
    *reinterpret_cast<Pack<float, 2>*>(to + 8 * pitch) = {{sum[2], sum[3]}};
  }
  __syncwarp();
}

// A pool behind the epilogue, over windows beside each other of pool_y x pool_x pixels, powers of two that a
// warp's 64 pixels hold whole: lanes whose pixels differ in those bits alone meet by shuffles.
template <class L, bool exact, class Sums, class Epilogue>
__device__ __forceinline__ void pool_implicit(const Sums& sums, float* stage,
                                              typename L::Out* __restrict__ out, const Epilogue& epilogue,
                                              int sample, int slice, int3 corner, int first_filter,
                                              int first_pixel) {
  using Tile = ImplicitTile<L, exact>;
  constexpr int joined = (L::pool_x - 1) | (L::pool_y - 1) * L::tile_x;  // bits of a pixel's number
  static_assert(joined < 64 && Tile::phases == 1);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  auto meet = [](float a, float b) { return L::pool_max ? maximum(a, b) : a + b; };
#pragma unroll
  for (int f = 0; f < Tile::filter_tiles; ++f) {
    const int first = slice * Tile::slice + first_filter + f * 16;
    const int there = min(16, min(Tile::slice - first_filter - f * 16, L::filters - first));
    if (there <= 0) continue;
    float pooled[16];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int pixel = first_pixel + h * 32 + lane;
      const int x = corner.x + pixel % L::tile_x, y = corner.y + pixel / L::tile_x % L::tile_y,
                z = corner.z + pixel / (L::tile_x * L::tile_y);
      const bool inside = x < L::result_x && y < L::result_y && z < L::result_z;
      // Windows that end outside are not written, and read what lies inside.
      const int position = inside ? (z * L::result_y + y) * L::result_x + x : 0;
      stage_sums<Tile::pitch>(stage, sums[f], h);
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int filter = min(i, there - 1);
        float value = epilogue(stage[filter * Tile::pitch + lane] * Tile::result_scale, sample,
                               first + filter, position);
#pragma unroll
        for (int bit = 1; bit < 32; bit *= 2)
          if (joined & bit) value = meet(value, __shfl_xor_sync(0xffffffffu, value, bit));
        pooled[i] = h == 1 && (joined & 32) ? meet(pooled[i], value) : value;
      }
      const int to_x = x / L::pool_x, to_y = y / L::pool_y;
      if ((h == 0 && (joined & 32)) || (lane & joined & 31) != 0 || to_x >= L::result_x / L::pool_x ||
          to_y >= L::result_y / L::pool_y || z >= L::result_z)
        continue;
      // The other half's rows belong to the same windows.
      typename L::Out* own = out + (L::out_offset + sample * L::out_stride_sample + z * L::out_stride_z +
                                    to_y * L::out_stride_y + to_x * L::out_stride_x);
      constexpr float scale = L::pool_max ? 1.0f : 1.0f / (L::pool_y * L::pool_x);
#pragma unroll
      for (int i = 0; i < 16; ++i)
        if (i < there)
          own[(first + i) * L::out_stride_channel] = static_cast<typename L::Out>(pooled[i] * scale);
    }
  }
}

// `packs`: eight filters of an NHWC result at a time, which lies at so many bytes.
template <class L, bool exact, bool packs, class Epilogue>
__global__ void __launch_bounds__(ImplicitTile<L, exact>::threads,
                                  ImplicitTile<L, exact>::filter_tiles <= 2 ? 4 : 2)
    conv_implicit_kernel(const typename L::In* __restrict__ x, const __half* __restrict__ packed,
                         typename L::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Tile = ImplicitTile<L, exact>;
  using Row = Pack<uint32_t, 4>;                                  // of a matrix: eight halves
  constexpr int filter_tiles = Tile::filter_tiles, quarters = 4;  // of a warp's 64 pixels
  extern __shared__ __align__(128) char implicit_shared[];
  auto* halo = reinterpret_cast<Row*>(implicit_shared);
  auto* ring = reinterpret_cast<Row*>(implicit_shared + Tile::halo_bytes);
  auto* zeros = reinterpret_cast<Row*>(implicit_shared + Tile::halo_bytes + Tile::ring_bytes);
  auto* table = reinterpret_cast<uint32_t*>(zeros + 1);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int pair = lane % 4;
  const int first_filter = warp % Tile::filter_warps * filter_tiles * 16,
            first_pixel = warp / Tile::filter_warps * 64;
  auto* stage =
      reinterpret_cast<float*>(implicit_shared + Tile::halo_bytes + Tile::ring_bytes + Tile::table_bytes) +
      warp * 16 * Tile::pitch;

  const int block = static_cast<int>(blockIdx.x);
  const int3 corner = {block % Tile::tiles_x * L::tile_x, block / Tile::tiles_x % Tile::tiles_y * L::tile_y,
                       block / (Tile::tiles_x * Tile::tiles_y) % Tile::tiles_z * L::tile_z};
  const int sample = block / (Tile::tiles_x * Tile::tiles_y * Tile::tiles_z);

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
  // Where the octets of all steps start, in a pixel's view, and how many of their eight numbers count.
  for (int i = thread; i < Tile::phases * Tile::most_steps * 2; i += Tile::threads) {
    const auto phase = Tile::phase_of(i / (Tile::most_steps * 2));
    const int octet = i % (Tile::most_steps * 2);
    uint32_t entry = Tile::none;
    if (octet < phase.octets()) {
      const int tap = octet / L::chunk, groups = phase.groups_x();
      const int at_x = tap % groups * Tile::taps_together, at_y = tap / groups % phase.taps_y(),
                at_z = tap / (groups * phase.taps_y());
      // What a phase lacks, it lacks before its first tap.
      const int z = L::kernel_z - phase.taps_z() + at_z, y = L::kernel_y - phase.taps_y() + at_y,
                left = L::kernel_x - phase.taps_x() + at_x;
      const int offset = octet % L::chunk * Tile::halo +
                         (z * L::dilation_z * Tile::halo_y + y * L::dilation_y) * Tile::halo_x +
                         left * L::dilation_x;
      const int valid = min(Tile::taps_together, phase.taps_x() - at_x) * Tile::together;
      entry = static_cast<uint32_t>(offset) | static_cast<uint32_t>(valid) << 24;
    }
    table[i] = entry;
  }

  // A lane says where one row of the four matrices of a load lies: a pixel's octet, or a filter's.
  int starts[quarters];
#pragma unroll
  for (int q = 0; q < quarters; ++q) {
    const int pixel = first_pixel + q * 16 + lane / 16 * 8 + lane % 8;
    const int at_x = pixel % L::tile_x, at_y = pixel / L::tile_x % L::tile_y,
              at_z = pixel / (L::tile_x * L::tile_y);
    starts[q] = (at_z * L::stride_z * Tile::halo_y + at_y * L::stride_y) * Tile::halo_x + at_x * L::stride_x;
  }
  const int beside = lane / 8 % 2;  // which of a step's two octets
  const int own_filter = lane / 16 * Tile::filters + first_filter + lane % 16;
  // Numbers that no tap has would meet weights of zero, which an infinity makes NaN.
  constexpr bool masked = Tile::taps_together > 1 && L::weights_x % (Tile::taps_together * L::phases_x) != 0;
  constexpr bool ragged = L::chunk % 2 != 0;
  constexpr bool full_stages = Tile::phases == 1 && Tile::most_steps % Tile::stage_steps == 0;

  const typename L::In* own_x = x + (L::x_offset + sample * L::x_stride_sample);
  using Halo = ImplicitHalo<L, exact, (Tile::chunks > 1 ? Tile::own_units : 4)>;
  Halo next;
  constexpr int at_once = (Tile::chunks > 1 ? Tile::own_units : 4) * Tile::threads;
  for (int first = thread; first < Halo::units; first += at_once) {
    next.fetch(own_x, corner, 0, first);
    next.keep(halo, first);
  }

  int at = 0, turn = 0;  // the stage, the halo
  for (int slice = 0; slice < Tile::slices; ++slice)
    for (int p = 0; p < Tile::phases; ++p) {
      const int steps = Tile::phase_of(p).steps(), stages = Tile::stages_of(p);
      float sums[filter_tiles][2 * quarters][4] = {};
      // A phase without taps waits for nobody, and leaves the halo as it is.
      for (int chunk = stages > 0 ? 0 : Tile::chunks; chunk < Tile::chunks; ++chunk) {
        const Row* here = halo + turn * Tile::halo_rows;
        const bool last_chunk = chunk + 1 == Tile::chunks;
        const bool more =
            Tile::chunks > 1 && !(last_chunk && p + 1 == Tile::phases && slice + 1 == Tile::slices);
        if (more) next.fetch(own_x, corner, last_chunk ? 0 : (chunk + 1) * L::chunk, thread);
        for (int s = 0; s < stages; ++s, ++at) {
          wait_for_copies<1>();
          __syncthreads();
          copy_stage(at + 2);
          const Row* filters = ring + at % Tile::ring * (Tile::stage_elements / 8) + own_filter;
          const uint32_t* entries = table + (p * Tile::most_steps + s * Tile::stage_steps) * 2;
#pragma unroll
          for (int step = 0; step < Tile::stage_steps; ++step) {
            if (!full_stages && s * Tile::stage_steps + step >= steps) break;
            const uint32_t entry = entries[step * 2 + beside];
            const bool none = ragged && entry == Tile::none;
            const Row* octet = here + (entry & 0xffffffu);
            MmaLeft left[filter_tiles], fine[filter_tiles], rest[filter_tiles];
#pragma unroll
            for (int f = 0; f < filter_tiles; ++f) {
              const Row* own = filters + step * (Tile::step_elements / 8) + f * 16;
              load_matrices(left[f].parts, own);
              if constexpr (exact) {
                load_matrices(rest[f].parts, own + 2 * Tile::filters);
#pragma unroll
                for (int i = 0; i < 4; ++i) fine[f].parts[i] = without_scale(left[f].parts[i]);
              }
            }
            uint32_t mask[2] = {~0u, ~0u};
            if constexpr (masked) {
#pragma unroll
              for (int o = 0; o < 2; ++o) {
                const int valid = static_cast<int>(entries[step * 2 + o] >> 24);
                mask[o] = (2 * pair < valid ? 0xffffu : 0u) | (2 * pair + 1 < valid ? 0xffff0000u : 0u);
              }
            }
#pragma unroll
            for (int q = 0; q < quarters; ++q) {
              uint32_t high[4], low[4];
              load_matrices(high, none ? zeros : octet + starts[q]);
              if constexpr (exact)
                load_matrices(low, none ? zeros : octet + starts[q] + Tile::halo * L::chunk);
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
        }
        if (more) next.keep(halo + (1 - turn) * Tile::halo_rows, thread);
        if (Tile::chunks > 1) turn = 1 - turn;
      }

      if constexpr (L::pool_y * L::pool_x > 1) {
        pool_implicit<L, exact>(sums, stage, out, epilogue, sample, slice, corner, first_filter, first_pixel);
        continue;
      }
      // Out, 16 filters of 32 pixels at a time; a lane has a pixel.
      const auto phase = Tile::phase_of(p);
      constexpr bool whole = L::filters % 16 == 0 && Tile::slice == Tile::filters;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int pixel = first_pixel + h * 32 + lane;
        const int at_x = corner.x + pixel % L::tile_x, at_y = corner.y + pixel / L::tile_x % L::tile_y,
                  at_z = corner.z + pixel / (L::tile_x * L::tile_y);
        const int out_x = at_x * L::phases_x + phase.x - L::before_x,
                  out_y = at_y * L::phases_y + phase.y - L::before_y,
                  out_z = at_z * L::phases_z + phase.z - L::before_z;
        const bool there = at_x < L::size_out_x && at_y < L::size_out_y && at_z < L::size_out_z &&
                           out_x >= 0 && out_x < L::result_x && out_y >= 0 && out_y < L::result_y &&
                           out_z >= 0 && out_z < L::result_z;
        const int position = (out_z * L::result_y + out_y) * L::result_x + out_x;
        typename L::Out* own =
            out + (L::out_offset + sample * L::out_stride_sample + out_z * L::out_stride_z +
                   out_y * L::out_stride_y + out_x * L::out_stride_x);
#pragma unroll
        for (int f = 0; f < filter_tiles; ++f) {
          const int first = slice * Tile::slice + first_filter + f * 16;
          const int filters_there =
              whole ? 16 : min(16, min(Tile::slice - first_filter - f * 16, L::filters - first));
          if (!whole && filters_there <= 0) continue;
          stage_sums<Tile::pitch>(stage, sums[f], h);
          if (!there) continue;
#pragma unroll
          for (int begin = 0; begin < 16; begin += 8) {  // what epilogues read arrives at the same time
            Pack<typename L::Out, 8> results;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
              const int filter = whole ? begin + i : min(begin + i, filters_there - 1);
              results[i] = static_cast<typename L::Out>(epilogue(
                  stage[filter * Tile::pitch + lane] * Tile::result_scale, sample, first + filter, position));
            }
            if constexpr (packs && whole) {
              store<8>(own + (first + begin), 0, results);
            } else if constexpr (L::scatters) {
              constexpr int64_t plane = int64_t{L::result_z} * L::result_y * L::result_x;
#pragma unroll
              for (int i = 0; i < 8; ++i)
                if (whole || begin + i < filters_there)
                  out[L::scattered((int64_t{sample} * L::filters + first + begin + i) * plane + position)] =
                      results[i];
            } else {
#pragma unroll
              for (int i = 0; i < 8; ++i)
                if (whole || begin + i < filters_there)
                  own[(first + begin + i) * L::out_stride_channel] = results[i];
            }
          }
        }
      }
    }
}
template <class L, bool exact, class Epilogue>
StitchStatus enqueue_conv_implicit(const char* name, const typename L::In* x, const __half* packed,
                                   typename L::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Tile = ImplicitTile<L, exact>;
  const Geometry geometry{static_cast<unsigned>(Tile::blocks), Tile::threads, Tile::shared_bytes};
  if constexpr (L::packs_out)
    if (is_aligned(out, 8 * sizeof(typename L::Out)))
      return launch(name, conv_implicit_kernel<L, exact, true, Epilogue>, geometry, stream, x, packed, out,
                    epilogue);
  return launch(name, conv_implicit_kernel<L, exact, false, Epilogue>, geometry, stream, x, packed, out,
                epilogue);
}

}  // namespace stitch
