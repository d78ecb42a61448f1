// 1 x 1 convolutions of NHWC images whose channels aren't a multiple of eight, which libraries would pad.
// Over all pixels of all samples
//   out (pixels, filters) = x (pixels, channels) · weight (filters, channels)'
// on tensor cores in fp16 or bf16 with FP32 sums. A warp computes 16 pixels of up to 64 filters from global
// memory to registers and back: lanes read pairs of channels in operand order, zeros past the last one, and
// weights come from L1 in lane order. Moves only x and the result, with the epilogue fused.
//   struct ConvRows {
//     static constexpr int64_t pixels = 12544, plane = 784;  // of all samples, and of one
//     static constexpr int channels = 58, filters = 58;
//   };
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/pack_weight.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
template <class Shape>
struct OddTile {
  static constexpr int pixels = 16, warps = 4, threads = warps * 32;
  static constexpr int most_filter_tiles = 8;  // 32 sums per lane

  static constexpr int all_filter_tiles = (Shape::filters + 7) / 8;
  static constexpr int slices = (all_filter_tiles + most_filter_tiles - 1) / most_filter_tiles;
  static constexpr int filter_tiles = (all_filter_tiles + slices - 1) / slices;
  static constexpr int steps = (Shape::channels + 15) / 16;
  static constexpr int rounds = (steps + 7) / 8;
  static constexpr int held = (steps + rounds - 1) / rounds;  // steps whose loads are in flight together
  // Of a slice, one warp each.
  static __host__ __device__ constexpr int64_t units(Shape shape) {
    return (shape.pixels + pixels - 1) / pixels;
  }

  // Operands in lane order: (slices, steps, filter tiles, lanes, 4).
  static constexpr int64_t packed = int64_t{slices} * steps * filter_tiles * 128;
};

template <class Product, class Shape, class Element>
struct OddPacking {
  static constexpr int64_t count = OddTile<Shape>::packed;
  template <class Weight>
  __device__ static Element element(const Weight* __restrict__ weight, int64_t i) {
    using Tile = OddTile<Shape>;
    using Index = typename Product::Index;
    const int part = static_cast<int>(i / 2 % 2), lane = static_cast<int>(i / 4 % 32);  // as in MmaRight
    const int64_t tile = i / 128;
    const int step = static_cast<int>(tile / Tile::filter_tiles % Tile::steps),
              slice = static_cast<int>(tile / Tile::filter_tiles / Tile::steps);
    const int filter =
                  (slice * Tile::filter_tiles + static_cast<int>(tile % Tile::filter_tiles)) * 8 + lane / 4,
              channel = step * 16 + part * 8 + lane % 4 * 2 + static_cast<int>(i % 2);
    const bool inside = filter < Shape::filters && channel < Shape::channels;
    return inside ? Element(static_cast<float>(weight[Product::left(Index{0}, static_cast<Index>(filter),
                                                                    static_cast<Index>(channel))]))
                  : Element(0.0f);
  }
};
template <class Product, class Shape, class Element>
StitchStatus pack_odd(const typename Product::Left* weight, Element* packed, cudaStream_t stream) {
  return pack_weight<OddPacking<Product, Shape, Element>>("pack_odd", weight, packed, stream);
}

// Two adjacent channels of a pixel; the second may be past the last.
template <class Element, bool pairs, class Stored>
__device__ __forceinline__ uint32_t load_channels(const Stored* __restrict__ pixel, int channel,
                                                  int channels) {
  if (channel >= channels) return 0;
  if constexpr (pairs && std::is_same_v<Element, Stored>) {
    return *reinterpret_cast<const uint32_t*>(pixel + channel);
  } else {
    const float first = static_cast<float>(pixel[channel]),
                second = channel + 1 < channels ? static_cast<float>(pixel[channel + 1]) : 0.0f;
    return std::is_same_v<Element, __half> ? half_pair(first, second) : bfloat_pair(first, second);
  }
}

// `pairs`: pairs of channels and filters are aligned.
template <class Product, class Shape, class Element, bool pairs, class Epilogue>
__global__ void __launch_bounds__(OddTile<Shape>::threads)
    odd_kernel(const typename Product::Right* __restrict__ x, const Element* __restrict__ packed,
               typename Product::Out* __restrict__ out, Epilogue epilogue, Shape shape) {
  wait_for_previous_kernel();
  using Tile = OddTile<Shape>;
  using Index = typename Product::Index;
  constexpr int filter_tiles = Tile::filter_tiles;
  const int lane = static_cast<int>(threadIdx.x % 32), row = lane / 4, pair = lane % 4;
  const int slice = static_cast<int>(blockIdx.x % Tile::slices);
  const int64_t unit =
      static_cast<int64_t>(blockIdx.x / Tile::slices) * Tile::warps + static_cast<int>(threadIdx.x / 32);
  if (unit >= Tile::units(shape)) return;
  const int64_t first = unit * Tile::pixels + row, second = first + 8;
  // Rows past the end repeat the last.
  const auto* upper = x + (first < shape.pixels ? first : shape.pixels - 1) * Shape::channels;
  const auto* lower = x + (second < shape.pixels ? second : shape.pixels - 1) * Shape::channels;
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
        left[s].parts[2 * half] = load_channels<Element, pairs>(upper, channel, Shape::channels);
        left[s].parts[2 * half + 1] = load_channels<Element, pairs>(lower, channel, Shape::channels);
      }
#pragma unroll
    for (int s = 0; s < Tile::held; ++s) {
      const int step = round * Tile::held + s;
      if (Tile::steps % Tile::held != 0 && step >= Tile::steps) break;
#pragma unroll
      for (int f = 0; f < filter_tiles; ++f) {
        const Pack<uint32_t, 2> right = weights[(step * filter_tiles + f) * 32];
        const MmaRight operand = {{right[0], right[1]}};
        mma_of<Element>(sums[f], left[s], operand);
      }
    }
  }

#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t pixel = h == 0 ? first : second;
    if (pixel >= shape.pixels) break;
    // Epilogues use the graph's NCHW positions.
    const int64_t sample = pixel / shape.plane, within = pixel % shape.plane;
#pragma unroll
    for (int f = 0; f < filter_tiles; ++f) {
      const int filter = (slice * filter_tiles + f) * 8 + pair * 2;
      Pack<typename Product::Out, 2> made;
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (filter + e < Shape::filters)
          made[e] = static_cast<typename Product::Out>(
              epilogue(sums[f][2 * h + e],
                       static_cast<Index>((sample * Shape::filters + filter + e) * shape.plane + within)));
      auto* to = out + pixel * Shape::filters + filter;
      if constexpr (pairs) {
        if (filter < Shape::filters) *reinterpret_cast<Pack<typename Product::Out, 2>*>(to) = made;
      } else {
        if (filter < Shape::filters) to[0] = made[0];
        if (filter + 1 < Shape::filters) to[1] = made[1];
      }
    }
  }
}

template <class Product, class Shape, class Element, class Epilogue>
StitchStatus enqueue_odd(const char* name, Shape shape, const typename Product::Right* x,
                         const Element* packed, typename Product::Out* out, Epilogue epilogue,
                         cudaStream_t stream) {
  using Tile = OddTile<Shape>;
  const Geometry geometry{blocks_of(divide_up(Tile::units(shape), Tile::warps) * Tile::slices),
                          Tile::threads};
  if constexpr (Shape::channels % 2 == 0 && Shape::filters % 2 == 0)
    if (is_aligned(x, 2 * sizeof(*x)) && is_aligned(out, 2 * sizeof(*out)))
      return launch(name, odd_kernel<Product, Shape, Element, true, Epilogue>, geometry, stream, x, packed,
                    out, epilogue, shape);
  return launch(name, odd_kernel<Product, Shape, Element, false, Epilogue>, geometry, stream, x, packed, out,
                epilogue, shape);
}

}  // namespace stitch
