// Convolutions over few channels at FP32 accuracy on fp16 tensor cores. A block computes rows of 32 pixels by
// up to 64 filters. It reads the part of x under the tile once and keeps it in shared memory, split: four
// channels of a pixel together, 16 bytes of high and low parts (a quad). A step of the product takes four
// quads of any taps, one per lane: one load brings a lane its high and low operand. So nothing is gathered
// twice, and the depth is full however few channels there are.
//   2048 w · x = (2048 w_high) · x_high + w_high · (2048 x_low) + (2048 w_low) · x_high
// with w / 64 and x / 16 each the sum of two fp16 numbers: all terms are added in one FP32 sum. Weights up to
// 2047 and x up to a million fit. Not `exact`: only the first of the three products, with TF32's accuracy.
//   struct ConvHalo {  // conv (128, 64, 126, 126) = x (128, 8, 128, 128) * weight (64, 8, 3, 3)
//     static constexpr int samples = 128, channels = 8, filters = 64;
//     static constexpr int size_in_z = 1, size_out_z = 1, kernel_z = 1;
//     static constexpr int stride_z = 1, padding_z = 0, dilation_z = 1;
//     …  // the same along y and x
//     static constexpr int64_t x_stride_sample = 131072, x_stride_channel = 16384, x_stride_z = 0, …;
//     static constexpr int64_t out_stride_sample = 1016064, …, x_offset = 0, out_offset = 0;
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// Tile sizes of Shape. Filters are taken in slices of at most 64.
template <class Shape>
struct HaloTile {
  static constexpr int threads = 256, warps = threads / 32, width = 32;
  static constexpr int round_up(int count, int by) { return (count + by - 1) / by * by; }

  static constexpr int slices = (Shape::filters + 63) / 64;
  static constexpr int filter_tiles = ((Shape::filters + slices - 1) / slices + 15) / 16;
  static constexpr int slice = filter_tiles * 16;
  static constexpr int rows_each = filter_tiles <= 2 ? 2 : 1;  // of 32 pixels, per warp
  static constexpr int rows = warps * rows_each;
  static constexpr int size_z = Shape::flat ? 1 : 2, size_y = rows / size_z, size_x = width;

  static constexpr int quads = (Shape::channels + 3) / 4,
                       taps = Shape::kernel_z * Shape::kernel_y * Shape::kernel_x;
  static constexpr int steps = (taps * quads + 3) / 4;

  static constexpr int halo_z =
      (size_z - 1) * Shape::stride_z + (Shape::kernel_z - 1) * Shape::dilation_z + 1;
  static constexpr int halo_y =
      (size_y - 1) * Shape::stride_y + (Shape::kernel_y - 1) * Shape::dilation_y + 1;
  static constexpr int halo_x =
      (size_x - 1) * Shape::stride_x + (Shape::kernel_x - 1) * Shape::dilation_x + 1;
  static constexpr int pixels = halo_z * halo_y * halo_x;
  static constexpr int pitch = round_up(halo_x + 4, 8) - 4;  // consecutive rows in different banks
  static constexpr int plane = halo_y * pitch;

  static constexpr int stage_pitch = width + 8;  // of floats: pairs of four rows in different banks
  static constexpr int halo_bytes = halo_z * plane * quads * 16, offset_bytes = round_up(steps * 16, 128);
  static constexpr int shared_bytes = halo_bytes + offset_bytes + warps * 16 * stage_pitch * 4;

  // Operands in lane order: (slices, steps, filter tiles, high and low, lanes, 8).
  static constexpr int64_t packed = int64_t{slices} * steps * filter_tiles * 2 * 32 * 8;

  // Of one image.
  int tiles_z, tiles_y, tiles_x;
  __host__ __device__ explicit constexpr HaloTile(Shape shape)
      : tiles_z((shape.size_out_z + size_z - 1) / size_z),
        tiles_y((shape.size_out_y + size_y - 1) / size_y),
        tiles_x((shape.size_out_x + size_x - 1) / size_x) {}
};
namespace halo_scale {
constexpr int low = 2048;  // of low parts
constexpr float weight = 1.0f / 64, x = 1.0f / 16, result = 1.0f / (low * weight * x);
}  // namespace halo_scale

template <class Product, class Shape>
struct HaloPacking {
  static constexpr int64_t count = HaloTile<Shape>::packed;
  template <class Weight>
  __device__ static __half element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = HaloTile<Shape>;
    using Index = typename Product::Index;
    const int element = static_cast<int>(i % 2), part = static_cast<int>(i / 2 % 4);  // as in MmaLeft
    const int lane = static_cast<int>(i / 8 % 32);
    const bool low = i / 256 % 2;
    const int64_t tile = i / 512;
    const int step = static_cast<int>(tile / Tile::filter_tiles % Tile::steps);
    const int64_t row =
        (tile / Tile::filter_tiles / Tile::steps * Tile::filter_tiles + tile % Tile::filter_tiles) * 16 +
        lane / 4 + part % 2 * 8;
    const int quad = step * 4 + lane % 4, tap = quad / Tile::quads;
    const int channel = quad % Tile::quads * 4 + part / 2 * 2 + element;
    float value = 0.0f;
    if (row < Shape::filters && tap < Tile::taps && channel < Shape::channels) {
      const int k = Product::right_by_depth ? tap * Shape::channels + channel : channel * Tile::taps + tap;
      value = static_cast<float>(weight[Product::left(0, static_cast<Index>(row), static_cast<Index>(k))]);
    }
    value *= halo_scale::weight;
    return __float2half(half_part(value, low) * halo_scale::low);
  }
};
template <class Product, class Shape>
StitchStatus pack_split_halo(const typename Product::Left* weight, __half* packed, cudaStream_t stream) {
  return pack_weight<HaloPacking<Product, Shape>>("pack_split_halo", weight, packed, stream);
}

// Reads the part of x under the tile at `corner` of a sample and splits it: [pixel][quad] of 16 bytes.
template <class Shape, bool exact, class Element>
__device__ __forceinline__ void load_halo(Shape shape, const Element* __restrict__ from,
                                          Pack<uint32_t, 4>* __restrict__ halo, int3 corner) {
  using Tile = HaloTile<Shape>;
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < Tile::pixels; i += Tile::threads) {
    const int at_z = i / (Tile::halo_y * Tile::halo_x), at_y = i / Tile::halo_x % Tile::halo_y,
              at_x = i % Tile::halo_x;
    const int z = corner.z * Shape::stride_z - Shape::padding_z + at_z,
              y = corner.y * Shape::stride_y - Shape::padding_y + at_y,
              x = corner.x * Shape::stride_x - Shape::padding_x + at_x;
    const bool inside =
        z >= 0 && z < shape.size_in_z && y >= 0 && y < shape.size_in_y && x >= 0 && x < shape.size_in_x;
    const Element* own = from + (z * shape.x_stride_z + y * shape.x_stride_y + x * shape.x_stride_x);
    float values[Tile::quads * 4];
#pragma unroll
    for (int c = 0; c < Tile::quads * 4; ++c)
      values[c] = c < Shape::channels && inside
                      ? static_cast<float>(own[c * shape.x_stride_channel]) * halo_scale::x
                      : 0.0f;
    Pack<uint32_t, 4>* to = halo + (at_z * Tile::plane + at_y * Tile::pitch + at_x) * Tile::quads;
#pragma unroll
    for (int q = 0; q < Tile::quads; ++q) {
      Pack<uint32_t, 4> quad;
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const float first = values[q * 4 + p * 2], second = values[q * 4 + p * 2 + 1];
        const HalfPairs two = exact ? split_halves_keeping_infinities<halo_scale::low>(first, second)
                                    : HalfPairs{half_pair(first, second), 0};
        quad[p] = two.high, quad[p + 2] = two.low;
      }
      to[q] = quad;
    }
  }
}

// The epilogue and stores of a warp's rows of pixels. `stage`: the warp's own.
template <class Product, class Shape, class Sums, class Epilogue>
__device__ __forceinline__ void store_halo(Shape shape, const Sums& sums, float* stage,
                                           typename Product::Out* __restrict__ out, const Epilogue& epilogue,
                                           int sample, int slice, int3 corner) {
  using Tile = HaloTile<Shape>;
  using Index = typename Product::Index;
  constexpr int filter_tiles = Tile::filter_tiles;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  // Through shared memory, 16 filters of a row at a time, for coalesced stores: 32 pixels of a filter, or 16
  // filters of two pixels if filters are contiguous.
  constexpr bool full = Shape::filters % 16 == 0, last = Shape::out_last;
  const Index positions = Index{shape.size_out_z} * shape.size_out_y * shape.size_out_x;
  constexpr int at_once = 8;  // the epilogue's loads are issued together
#pragma unroll
  for (int r = 0; r < Tile::rows_each; ++r) {
    const int row = warp * Tile::rows_each + r;
    const int out_z = corner.z + row / Tile::size_y, out_y = corner.y + row % Tile::size_y;
    if (out_z >= shape.size_out_z || out_y >= shape.size_out_y) continue;
#pragma unroll
    for (int f = 0; f < filter_tiles; ++f) {
      const int first = slice * Tile::slice + f * 16;
      if (first >= Shape::filters) continue;
      stage_sums<Tile::stage_pitch>(stage, sums[f], r);
      const int filter_count = full ? 16 : min(16, Shape::filters - first);
      const int pixel_count = shape.size_out_x - corner.x;
      const Index position = (Index{sample} * Shape::filters + first) * positions +
                             (Index{out_z} * shape.size_out_y + out_y) * shape.size_out_x + corner.x;
      typename Product::Out* to =
          out + (shape.out_offset + sample * shape.out_stride_sample + first * shape.out_stride_channel +
                 out_z * shape.out_stride_z + out_y * shape.out_stride_y + corner.x * shape.out_stride_x);
      if (!last && lane >= pixel_count) continue;
#pragma unroll
      for (int begin = 0; begin < 16; begin += at_once) {
        float values[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int filter = min(last ? lane % 16 : begin + i, filter_count - 1);
          const int pixel = last ? min((begin + i) * 2 + lane / 16, pixel_count - 1) : lane;
          values[i] = epilogue(stage[filter * Tile::stage_pitch + pixel] * halo_scale::result,
                               position + filter * positions + pixel);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int filter = last ? lane % 16 : begin + i, pixel = last ? (begin + i) * 2 + lane / 16 : lane;
          if ((full || filter < filter_count) && (!last || pixel < pixel_count))
            to[filter * shape.out_stride_channel + pixel * shape.out_stride_x] =
                static_cast<typename Product::Out>(values[i]);
        }
      }
    }
  }
}

template <class Product, class Shape, bool exact, class Epilogue>
__global__ void __launch_bounds__(HaloTile<Shape>::threads, 2)
    conv_split_halo_kernel(const typename Product::Right* __restrict__ x, const __half* __restrict__ packed,
                           typename Product::Out* __restrict__ out, Epilogue epilogue, Shape shape) {
  wait_for_previous_kernel();
  using Tile = HaloTile<Shape>;
  using Index = typename Product::Index;
  using Quad = Pack<uint32_t, 4>;
  constexpr int filter_tiles = Tile::filter_tiles, pixel_tiles = Tile::rows_each * 4;
  extern __shared__ __align__(128) char halo_shared[];
  auto* halo = reinterpret_cast<Quad*>(halo_shared);
  auto* offsets = reinterpret_cast<int*>(halo_shared + Tile::halo_bytes);  // of the quads of all steps
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int group = lane / 4, pair = lane % 4;
  auto* stage = reinterpret_cast<float*>(halo_shared + Tile::halo_bytes + Tile::offset_bytes) +
                warp * 16 * Tile::stage_pitch;

  const Tile tile(shape);
  const int block = static_cast<int>(blockIdx.x);
  const int3 corner = {block % tile.tiles_x * Tile::size_x,
                       block / tile.tiles_x % tile.tiles_y * Tile::size_y,
                       block / (tile.tiles_x * tile.tiles_y) % tile.tiles_z * Tile::size_z};
  const int sample = block / (tile.tiles_x * tile.tiles_y * tile.tiles_z),
            slice = static_cast<int>(blockIdx.y);

  for (int q = thread; q < Tile::steps * 4; q += Tile::threads) {
    const int tap = q / Tile::quads, tap_x = tap % Shape::kernel_x,
              tap_y = tap / Shape::kernel_x % Shape::kernel_y,
              tap_z = tap / (Shape::kernel_x * Shape::kernel_y);
    const int pixel = tap_z * Shape::dilation_z * Tile::plane + tap_y * Shape::dilation_y * Tile::pitch +
                      tap_x * Shape::dilation_x;
    offsets[q] = tap < Tile::taps ? pixel * Tile::quads + q % Tile::quads : -1;
  }
  load_halo<Shape, exact>(shape, x + (shape.x_offset + sample * shape.x_stride_sample), halo, corner);
  __syncthreads();

  // A warp's rows of pixels: their starts in the halo.
  const Quad* starts[Tile::rows_each];
#pragma unroll
  for (int r = 0; r < Tile::rows_each; ++r) {
    const int row = warp * Tile::rows_each + r;
    starts[r] = halo + (row / Tile::size_y * Shape::stride_z * Tile::plane +
                        row % Tile::size_y * Shape::stride_y * Tile::pitch + group * Shape::stride_x) *
                           Tile::quads;
  }
  const Quad* weights =
      reinterpret_cast<const Quad*>(packed) + int64_t{slice} * Tile::steps * filter_tiles * 64 + lane;
  float sums[filter_tiles][pixel_tiles][4] = {};
  constexpr int unrolled = Tile::steps <= 7 ? Tile::steps : 2;
  constexpr bool ragged = Tile::taps * Tile::quads % 4 != 0;
#pragma unroll unrolled
  for (int step = 0; step < Tile::steps; ++step) {
    const int offset = offsets[step * 4 + pair];
    MmaRight high[pixel_tiles], low[pixel_tiles];
#pragma unroll
    for (int t = 0; t < pixel_tiles; ++t) {
      // Past the last tap weights are 0, which would make NaN of an infinity.
      Quad quad = {};
      if (!ragged || step + 1 < Tile::steps || offset >= 0)
        quad = starts[t / 4][offset + t % 4 * 8 * Shape::stride_x * Tile::quads];
      high[t] = {{quad[0], quad[1]}};
      low[t] = {{quad[2], quad[3]}};
    }
#pragma unroll
    for (int f = 0; f < filter_tiles; ++f) {
      const Quad* operand = weights + (step * filter_tiles + f) * 64;
      const Quad scaled = operand[0], rest = operand[32];
      MmaLeft left = {{scaled[0], scaled[1], scaled[2], scaled[3]}};
#pragma unroll
      for (int t = 0; t < pixel_tiles; ++t) mma(sums[f][t], left, high[t]);
      if constexpr (!exact) continue;
#pragma unroll
      for (uint32_t& part : left.parts) part = scaled_pair(part, 1.0f / halo_scale::low);
#pragma unroll
      for (int t = 0; t < pixel_tiles; ++t) mma(sums[f][t], left, low[t]);
      left = {{rest[0], rest[1], rest[2], rest[3]}};
#pragma unroll
      for (int t = 0; t < pixel_tiles; ++t) mma(sums[f][t], left, high[t]);
    }
  }
  store_halo<Product>(shape, sums, stage, out, epilogue, sample, slice, corner);
}
template <class Product, bool exact, class Shape, class Epilogue>
StitchStatus enqueue_conv_split_halo(const char* name, Shape shape, const typename Product::Right* x,
                                     const __half* packed, typename Product::Out* out, Epilogue epilogue,
                                     cudaStream_t stream) {
  using Tile = HaloTile<Shape>;
  const Tile tile(shape);
  const int64_t blocks = int64_t{shape.samples} * tile.tiles_z * tile.tiles_y * tile.tiles_x;
  return launch(
      name, conv_split_halo_kernel<Product, Shape, exact, Epilogue>,
      {dim3(blocks_of(blocks), static_cast<unsigned>(Tile::slices)), Tile::threads, Tile::shared_bytes},
      stream, x, packed, out, epilogue, shape);
}

}  // namespace stitch
