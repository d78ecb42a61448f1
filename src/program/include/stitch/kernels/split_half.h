// FP32 matrices as fp16, x · scale = high, rounded to TF32's ten bits, or as pairs, x · scale = high + low,
// so that tensor cores multiply them at FP32 accuracy:
//   left · right = high · low' + low · high' + high · high', low terms first, sums in FP32.
// Low parts are kept times 2048, above fp16's denormals. Three forms:
//   accumulated  [high | 2048 low] · [2048 low' ; high'] for the low terms, times 2048, then high · high'
//                accumulated onto them: two parts, as many bytes as FP32
//   stacked      high and low rows stacked, [high ; 2048 low] · high', then high · 2048 low' accumulated onto
//                the low rows: each right part is read once; the finishing pass adds the two
//   deep         one GEMM with K tripled, [high | 2048 low | high] · [low' ; high' / 2048 ; high']: three
//                parts, and one write of the result less. high' / 2048 is exact where it matters
//
// Tensor cores truncate sums instead of rounding them: every 16 steps of depth lose half an ulp, always
// towards zero (9.7e-6 of the result at depth 8192 on an H200). So the depth is split into chunks whose
// products are added with rounding: three parts are consecutive in every chunk; with two, only high · high'
// needs it, since the low terms are too small.
//
// Scales are powers of two. Activations are split by a usual scale in the pass that finds the largest
// magnitude; only if that doesn't suit are they split again, by the scale that brings it just below 2^15.
// Weights always use that one. 4 bytes read and 2, 4 or 6 written per element.
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// Blocks of the pass that splits, which has 48 KB of loads in flight on a multiprocessor with six of them,
// and of the one that splits again: usually it has nothing to do, and few blocks find that out sooner.
struct SplitBlocks {
  int splitting, again;
};

// One operand of Product, with its depth or its other side contiguous, its 1 to 3 parts consecutive in every
// chunk.
template <class Product, bool is_left, bool depth_inside, int part_count, int64_t chunk_depth, bool is_weight>
struct SplitOperand {
  static constexpr bool left = is_left, weight = is_weight;
  static constexpr int parts = part_count, width = 8;
  static_assert(chunk_depth % width == 0, "tensor cores take 8 at a time");
  Product product;

  static __host__ __device__ constexpr int64_t round_up(int64_t count, int64_t to) {
    return (count + to - 1) / to * to;
  }
  __host__ __device__ constexpr int64_t side() const { return is_left ? product.rows : product.columns; }
  // Zero-padded.
  __host__ __device__ constexpr int64_t depth() const { return round_up(product.depth, chunk_depth); }
  __host__ __device__ constexpr int64_t inner() const {
    return depth_inside ? int64_t{product.depth} : side();
  }
  __host__ __device__ constexpr int64_t outer() const { return depth_inside ? side() : depth(); }
  __host__ __device__ constexpr int64_t padded_inner() const {
    return depth_inside ? depth() : round_up(side(), width);
  }
  __host__ __device__ constexpr int64_t packs() const {
    return product.batches * outer() * (padded_inner() / width);
  }
  int blocks(int most) const {
    return static_cast<int>(packs() < int64_t{256} * most ? (packs() + 255) / 256 : most);
  }

  // The scale for an operand in the usual range of magnitudes: high stays below 65504, and numbers 500 times
  // smaller than the largest still keep 22 bits. One part keeps all ten down to 2^-12 of the largest there
  // (softmax outputs are in it), and to 2^-29 by the other scale.
  static constexpr float usual_scale = is_left ? 64.0f : 256.0f;
  static constexpr float usual_least = part_count == 1 ? 0.25f / usual_scale
                                       : is_left       ? 1.0f / 4096
                                                       : 1.0f / 16,
                         usual_most = is_left ? 1000 : 250;
  static __device__ __forceinline__ float scale(float largest) {
    if (!is_weight && largest >= usual_least && largest <= usual_most) return usual_scale;
    if (largest == 0.0f) return 1.0f;
    int exponent;
    frexpf(largest, &exponent);
    return ldexpf(1.0f, exponent < -111 ? 126 : 15 - exponent);
  }

  struct Position {
    typename Product::Index batch, outer, inner;
  };
  __device__ __forceinline__ Position position(int64_t pack) const {
    using Flat = flat_t<Product>;
    const Flat wide = static_cast<Flat>(padded_inner() / width), high = static_cast<Flat>(outer());
    const Flat at = static_cast<Flat>(pack);
    return {static_cast<typename Product::Index>(at / wide / high),
            static_cast<typename Product::Index>(at / wide % high),
            static_cast<typename Product::Index>(at % wide * width)};
  }
  __device__ __forceinline__ typename Product::Index source(const Position& at, int i) const {
    if constexpr (is_left)
      return depth_inside ? product.left(at.batch, at.outer, at.inner + i)
                          : product.left(at.batch, at.inner + i, at.outer);
    else
      return depth_inside ? product.right(at.batch, at.inner + i, at.outer)
                          : product.right(at.batch, at.outer, at.inner + i);
  }
  // Offset of a pack's first part, and the stride to the next.
  __device__ __forceinline__ int64_t part_stride() const {
    return chunk_depth * (depth_inside ? 1 : padded_inner());
  }
  __device__ __forceinline__ int64_t place(const Position& at) const {
    if constexpr (depth_inside)
      return (at.batch * outer() + at.outer) * (parts * depth()) +
             at.inner / chunk_depth * (parts * chunk_depth) + at.inner % chunk_depth;
    else
      return (at.batch * (parts * depth()) + at.outer / chunk_depth * (parts * chunk_depth) +
              at.outer % chunk_depth) *
                 padded_inner() +
             at.inner;
  }
  template <bool quads>
  __device__ __forceinline__ Pack<float, width> load_pack(const float* __restrict__ from,
                                                          const Position& at) const {
    Pack<float, width> values = {};
    if (!depth_inside && at.outer >= product.depth) return values;
    if constexpr (quads) {
#pragma unroll
      for (int i = 0; i < width; i += 4) {
        if (at.inner + i >= inner()) continue;
        const Pack<float, 4> four = stitch::load<4>(from + source(at, i), 0);
#pragma unroll
        for (int j = 0; j < 4; ++j) values[i + j] = four[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (at.inner + i < inner()) values[i] = from[source(at, i)];
    }
    return values;
  }
};

// Alpha and beta of a run's products: of the low terms alone, of the first product, and of those accumulated
// onto it. `scale`: of the operand that is split first, if it isn't a weight.
struct SplitFactors {
  float scale;
  float small_terms[2], first[2], second[2];
};

// A packed weight's `elements` numbers are followed by its scale, by alpha and beta of products with operands
// that have none, then, eight floats on, by the largest magnitude of each block that packed it: independent
// of runs, so all products of the weight share it.
inline float* weight_scale(__half* packed, int64_t elements) {
  return reinterpret_cast<float*>(packed + elements);
}
inline const float* weight_scale(const __half* packed, int64_t elements) {
  return reinterpret_cast<const float*>(packed + elements);
}

// Magnitudes compare like their bits.
__device__ __forceinline__ float larger_magnitude(float a, float b) {
  return __int_as_float(max(__float_as_int(fabsf(a)), __float_as_int(fabsf(b))));
}

template <class Operand>
__device__ __forceinline__ void split_pack(const Operand& operand, const Pack<float, 8>& values, float scale,
                                           __half* __restrict__ to) {
  // `once`: high, except for infinities, which go into one product only: times the other side's low parts
  // they would be NaN. Where high is stored once, there is no such choice.
  Pack<__half, 8> high, low, once;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float x = values[i] * scale;
    high[i] = __float2half_rn(x);
    const float rounded = __half2float(high[i]);
    const bool infinite = fabsf(rounded) == INFINITY;
    low[i] = __float2half_rn(
        infinite ? 0.0f : (x - rounded) * (Operand::left || Operand::parts == 2 ? 2048.0f : 1.0f));
    once[i] = __float2half_rn(infinite ? 0.0f : Operand::left ? rounded : rounded * (1.0f / 2048.0f));
  }
  auto put = [&](int part, const Pack<__half, 8>& pack) {
    *reinterpret_cast<Pack<__half, 8>*>(to + part * operand.part_stride()) = pack;
  };
  if constexpr (Operand::parts == 1) {
    put(0, high);
  } else if constexpr (Operand::parts == 2) {
    put(0, Operand::left ? high : low);
    put(1, Operand::left ? low : high);
  } else {
    put(0, Operand::left ? once : low);
    put(1, Operand::left ? low : once);
    put(2, high);
  }
}

// The largest of 256 threads' magnitudes, returned to all.
__device__ __forceinline__ float largest_of_block(float most) {
  __shared__ float of_warps[8];
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2)
    most = larger_magnitude(most, __shfl_xor_sync(0xffffffffu, most, mask));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < 8; ++warp) most = larger_magnitude(most, of_warps[warp]);
  return most;
}

// Splits the whole operand by its usual scale and finds each block's largest magnitude.
template <class Operand, bool quads>
__global__ void __launch_bounds__(256)
    split_kernel(const float* __restrict__ from, __half* __restrict__ to, float* largest, Operand operand) {
  wait_for_previous_kernel();
  float most = 0.0f;
  for (int64_t pack = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; pack < operand.packs();
       pack += static_cast<int64_t>(gridDim.x) * 256) {
    const typename Operand::Position at = operand.position(pack);
    const Pack<float, 8> values = operand.template load_pack<quads>(from, at);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (isfinite(values[i])) most = larger_magnitude(most, values[i]);
    split_pack(operand, values, Operand::usual_scale, to + operand.place(at));
  }
  most = largest_of_block(most);
  if (threadIdx.x == 0) largest[blockIdx.x] = most;
}

// Splits again if the usual scale doesn't suit. The first operand to be split stores its scale; the `last`
// reads it and sets the products' factors, which make the result `factor` times as large.
template <bool last>
using ScaleOfFirst = std::conditional_t<last, const float, float>;
template <class Operand, bool last, bool quads>
__global__ void __launch_bounds__(256)
    split_again_kernel(const float* __restrict__ from, __half* __restrict__ to, const float* largest,
                       int found, ScaleOfFirst<last>* first_scale, SplitFactors* factors, float factor,
                       Operand operand) {
  wait_for_previous_kernel();
  float most = 0.0f;
  for (int block = static_cast<int>(threadIdx.x); block < found; block += 256)
    most = larger_magnitude(most, largest[block]);
  const float scale = Operand::scale(largest_of_block(most));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if constexpr (last) {
      factors->first[0] = factors->second[0] = factor / scale / *first_scale;
      factors->small_terms[0] = factors->first[0] / 2048.0f;
      factors->small_terms[1] = factors->first[1] = 0.0f;
      factors->second[1] = 1.0f;
    } else {
      *first_scale = scale;
      if constexpr (Operand::weight) first_scale[1] = factor / scale, first_scale[2] = 0.0f;
    }
  }
  if (scale == Operand::usual_scale) return;
  for (int64_t pack = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; pack < operand.packs();
       pack += static_cast<int64_t>(gridDim.x) * 256) {
    const typename Operand::Position at = operand.position(pack);
    split_pack(operand, operand.template load_pack<quads>(from, at), scale, to + operand.place(at));
  }
}

// Splits an operand. `largest`: a float for each splitting block. `quads`: every four elements are
// contiguous, 16-byte aligned if `from` is. `factors`: for the last operand only.
template <bool last, bool quads, class Operand>
StitchStatus split_operand(Operand operand, const float* from, __half* to, float* largest,
                           ScaleOfFirst<last>* first_scale, SplitFactors* factors, float factor,
                           SplitBlocks most, cudaStream_t stream) {
  const int blocks = operand.blocks(most.splitting);
  const Geometry geometry{static_cast<unsigned>(blocks), 256},
      few{static_cast<unsigned>(blocks < most.again ? blocks : most.again), 256};
  auto both = [&](auto* split, auto* again) -> StitchStatus {
    STITCH_OK_OR_RETURN(launch("split_operand", split, geometry, stream, from, to, largest, operand));
    return launch("split_again", again, few, stream, from, to, largest, blocks, first_scale, factors, factor,
                  operand);
  };
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(from) % 16 == 0)
      return both(split_kernel<Operand, true>, split_again_kernel<Operand, last, true>);
  }
  return both(split_kernel<Operand, false>, split_again_kernel<Operand, last, false>);
}

// Packs a weight for all products: `elements` numbers, and its tail. `factor`: as above, of products with
// operands that have no scale.
template <bool quads, class Operand>
StitchStatus split_weight(Operand operand, const float* from, __half* packed, int64_t elements,
                          SplitBlocks most, cudaStream_t stream, float factor = 1.0f) {
  float* scale = weight_scale(packed, elements);
  return split_operand<false, quads>(operand, from, packed, scale + 8, scale, nullptr, factor, most, stream);
}

}  // namespace stitch
