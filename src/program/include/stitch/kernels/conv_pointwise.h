// 1 x 1 convolutions of NCHW images on tensor cores in TF32. For every sample and group
//   out (filters, pixels) = weight (filters, channels) · x (channels, pixels)
// A warp computes 32 pixels of up to 128 filters from global memory to registers and back. A lane reads four
// adjacent pixels of a channel, a column of each of four operands; the columns are permuted so that a lane's
// sums are four adjacent pixels again, and those of a row's lanes 64 bytes. Weights come from L1, in lane
// order. Moves only x and the result, 4 · (channels + filters) bytes per pixel, with the epilogue fused.
// `exact`: FP32 accuracy from three products of TF32 pairs (split_pair.h).
//   struct ConvPlanes {  // of one group
//     static constexpr int samples = 16, groups = 1, channels = 64, filters = 128;
//     static constexpr int64_t pixels = 262144;
//     static constexpr bool x_in_quads = true, out_in_quads = true;  // aligned groups of four pixels
//     static constexpr bool out_in_planes = true;                    // NCHW, like x
//     static constexpr bool in_step = false;  // warps in step: L1 needs the weights of one round only
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class Shape, bool exact>
struct PointwiseTile {
  static constexpr int pixels = 32;
  static constexpr int most_filter_tiles = 8;  // 128 sums per lane

  static constexpr int all_filter_tiles = (Shape::filters + 15) / 16;
  static constexpr int slices = (all_filter_tiles + most_filter_tiles - 1) / most_filter_tiles;
  static constexpr int filter_tiles = (all_filter_tiles + slices - 1) / slices;
  static constexpr int steps = (Shape::channels + 7) / 8;
  static constexpr int rounds = (steps + 3) / 4;
  static constexpr int held = (steps + rounds - 1) / rounds;  // steps prefetched: up to 4 KB per warp

  // Warps per multiprocessor that the registers allow.
  static constexpr int resident = filter_tiles > 5 ? 8 : filter_tiles > 2 ? 12 : 16;
  static constexpr int warps = Shape::in_step ? resident : 4, threads = warps * 32, blocks = resident / warps;

  // Of a slice, one warp each.
  static __host__ __device__ constexpr int64_t tiles(Shape shape) {
    return (shape.pixels + pixels - 1) / pixels;
  }
  static __host__ __device__ constexpr int64_t units(Shape shape) {
    return int64_t{shape.samples} * Shape::groups * tiles(shape);
  }

  // Operands in lane order: (groups, slices, steps, filter tiles, parts, lanes, 4).
  static constexpr int parts = exact ? 2 : 1;
  static constexpr int64_t slice_packed = int64_t{steps} * filter_tiles * parts * 128;
  static constexpr int64_t packed = int64_t{Shape::groups} * slices * slice_packed;
};

template <class Product, class Shape, bool exact>
struct PointwisePacking {
  static constexpr int64_t count = PointwiseTile<Shape, exact>::packed;
  template <class Weight>
  __device__ static float element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = PointwiseTile<Shape, exact>;
    using Index = typename Product::Index;
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
    if (row < Shape::filters && k < Shape::channels)
      value = static_cast<float>(weight[Product::left(static_cast<Index>(slice / Tile::slices),
                                                      static_cast<Index>(row), static_cast<Index>(k))]);
    return tf32_part(value, low);
  }
};
template <class Product, class Shape, bool exact>
StitchStatus pack_pointwise(const typename Product::Left* weight, float* packed, cudaStream_t stream) {
  return pack_weight<PointwisePacking<Product, Shape, exact>>("pack_pointwise", weight, packed, stream);
}

// Four pixels of a channel; zeros outside.
template <class Product, class Shape, class Tile, bool vectors>
__device__ __forceinline__ Pack<float, 4> load_pixels(Product product, Shape shape,
                                                      const typename Product::Right* __restrict__ x,
                                                      int group, int sample, int channel, int64_t pixel) {
  using Index = typename Product::Index;
  Pack<float, 4> out = {};
  if (Shape::channels % 8 != 0 && channel >= Shape::channels) return out;
  if constexpr (vectors) {
    if (shape.pixels % Tile::pixels != 0 && pixel >= shape.pixels) return out;
    const int64_t plane = (static_cast<int64_t>(sample) * Shape::groups + group) * Shape::channels + channel;
    const auto* from = reinterpret_cast<const float4*>(x + (plane * shape.pixels + pixel));
    // Streaming load if it is read once; otherwise other slices find it in L2.
    const float4 quad = Tile::slices == 1 ? __ldcs(from) : *from;
    return {{quad.x, quad.y, quad.z, quad.w}};
  } else {
    const Index column = static_cast<Index>(sample * shape.pixels + pixel);
#pragma unroll
    for (int t = 0; t < 4; ++t)
      if (pixel + t < shape.pixels)
        out[t] = load_right<Product, float>(
            x, product.right(static_cast<Index>(group), static_cast<Index>(channel), column + t));
    return out;
  }
}

// sums += a step's product: four pixels of two channels, and weights from L1.
template <class Shape, bool exact, class Sums>
__device__ __forceinline__ void multiply_pixels(Sums& sums, const Pack<float, 4> (&pixels)[2],
                                                const Pack<uint32_t, 4>* weights) {
  using Tile = PointwiseTile<Shape, exact>;
  using Quad = Pack<uint32_t, 4>;
  MmaRight high[4], low[4];
#pragma unroll
  for (int t = 0; t < 4; ++t)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const Tf32Pair value = split_tf32(pixels[part][t]);
      high[t].parts[part] = value.high;
      if constexpr (exact) low[t].parts[part] = value.low;
    }
#pragma unroll
  for (int f = 0; f < Tile::filter_tiles; ++f) {
    const Quad* operand = weights + f * Tile::parts * 32;
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

template <class Product, class Shape, bool exact, bool vectors, class Epilogue>
__global__ void __launch_bounds__(PointwiseTile<Shape, exact>::threads, PointwiseTile<Shape, exact>::blocks)
    pointwise_kernel(const typename Product::Right* __restrict__ x, const float* __restrict__ packed,
                     const float* __restrict__ bias, typename Product::Out* __restrict__ out,
                     Epilogue epilogue, Product product, Shape shape) {
  wait_for_previous_kernel();
  using Tile = PointwiseTile<Shape, exact>;
  using Index = typename Product::Index;
  using Quad = Pack<uint32_t, 4>;
  constexpr int filter_tiles = Tile::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), column = lane / 4, pair = lane % 4;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices);
  const int64_t wanted =
      static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::warps + static_cast<int>(threadIdx.x / 32);
  const int64_t tiles = Tile::tiles(shape);
  const bool inside = wanted < Tile::units(shape);
  if (!inside && !Shape::in_step) return;
  const int64_t unit = inside ? wanted : 0;
  const int64_t first_pixel = unit % tiles * Tile::pixels;
  const int group = static_cast<int>(unit / tiles % Shape::groups),
            sample = static_cast<int>(unit / tiles / Shape::groups);
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
          next[s][part] = load_pixels<Product, Shape, Tile, vectors>(product, shape, x, group, sample,
                                                                     step * 8 + pair + part * 4, own_pixel);
      }
  };
  fetch(0);

  float sums[filter_tiles][4][4];
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int filter = first_filter + f * 16 + h * 8 + column;
      const float start = bias && filter < Shape::filters ? bias[group * Shape::filters + filter] : 0.0f;
#pragma unroll
      for (int t = 0; t < 4; ++t) sums[f][t][2 * h] = sums[f][t][2 * h + 1] = start;
    }

  const Quad* weights =
      reinterpret_cast<const Quad*>(packed + (int64_t{group} * Tile::slices + slice) * Tile::slice_packed) +
      lane;
#pragma unroll 1
  for (int round = 0; round < Tile::rounds; ++round) {
    if constexpr (Shape::in_step) __syncthreads();
#pragma unroll
    for (int s = 0; s < Tile::held; ++s)
#pragma unroll
      for (int part = 0; part < 2; ++part) here[s][part] = next[s][part];
    if (round + 1 < Tile::rounds) fetch(round + 1);
#pragma unroll
    for (int s = 0; s < Tile::held; ++s) {
      const int step = round * Tile::held + s;
      if (Tile::steps % Tile::held != 0 && step >= Tile::steps) break;
      multiply_pixels<Shape, exact>(sums, here[s], weights + step * filter_tiles * Tile::parts * 32);
    }
  }

  if (!inside) return;
#pragma unroll
  for (int f = 0; f < filter_tiles; ++f)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int filter = first_filter + f * 16 + h * 8 + column;
      if (filter >= Shape::filters) continue;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int64_t pixel = first_pixel + 4 * pair + 16 * c;
        const Index position = static_cast<Index>(
            ((static_cast<int64_t>(sample) * Shape::groups + group) * Shape::filters + filter) *
                shape.pixels +
            pixel);
        auto place = [&](int t) {
          if constexpr (Shape::out_in_planes) return position + t;
          return product.out(static_cast<Index>(group), static_cast<Index>(filter),
                             static_cast<Index>(sample * shape.pixels + pixel) + t);
        };
        if constexpr (vectors && Shape::out_in_quads) {
          if (pixel >= shape.pixels) continue;
          Pack<float, 4> quad;
#pragma unroll
          for (int t = 0; t < 4; ++t) quad[t] = epilogue(sums[f][t][2 * h + c], position + t);
          *reinterpret_cast<Pack<float, 4>*>(out + place(0)) = quad;
        } else {
#pragma unroll
          for (int t = 0; t < 4; ++t)
            if (pixel + t < shape.pixels)
              out[place(t)] =
                  static_cast<typename Product::Out>(epilogue(sums[f][t][2 * h + c], position + t));
        }
      }
    }
}

// `bias` (groups · filters), or null.
template <bool exact, class Product, class Shape, class Epilogue>
StitchStatus enqueue_pointwise(const char* name, Product product, Shape shape,
                               const typename Product::Right* x, const float* packed, const float* bias,
                               typename Product::Out* out, Epilogue epilogue, cudaStream_t stream) {
  using Tile = PointwiseTile<Shape, exact>;
  const Geometry geometry{blocks_of(divide_up(Tile::units(shape), Tile::warps) * Tile::slices),
                          Tile::threads};
  if constexpr (Shape::x_in_quads)
    if (is_aligned(x, 16) && (!Shape::out_in_quads || is_aligned(out, 16)))
      return launch(name, pointwise_kernel<Product, Shape, exact, true, Epilogue>, geometry, stream, x,
                    packed, bias, out, epilogue, product, shape);
  return launch(name, pointwise_kernel<Product, Shape, exact, false, Epilogue>, geometry, stream, x, packed,
                bias, out, epilogue, product, shape);
}

}  // namespace stitch
