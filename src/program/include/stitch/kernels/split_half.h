// FP32 matrices as pairs of fp16: x · scale = high + low, so that tensor cores multiply them at FP32's
// accuracy:
//   left · right = high · low' + low · high' + high · high', small terms first
// laid out as one product three times as deep: [high | 2048 low | high] · [low' ; high' / 2048 ; high'], sums
// in FP32. The scale is a power of two that brings the largest magnitude just below 2^15, found by a pass of
// its own: nothing overflows, and elements 2^-29 times as large as the largest still keep 21 bits. 2048 keeps
// left's low parts away from fp16's smallest numbers; right's need not be, because high' / 2048 is exact.
// 16384 x 8192 x 8192 on an H200: 11.6 ms against 42.5 ms in FP32 (measured with three products).
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One operand of P, stored with depth or with its other side inside. `parts`: how many stand behind each
// other along the depth: left 3, or 2 without the second high; right always 3.
template <class P, bool is_left, bool depth_inside, int part_count>
struct SplitOperand {
  static constexpr bool left = is_left;
  static constexpr int parts = part_count;
  static constexpr int64_t round_up(int64_t count) { return (count + 7) / 8 * 8; }
  static constexpr int64_t side = is_left ? P::rows : P::columns;
  static constexpr int64_t depth = round_up(P::depth);  // padded with zeros: tensor cores take 8 at a time
  static constexpr int64_t inner = depth_inside ? P::depth : side, outer = depth_inside ? side : depth;
  static constexpr int64_t padded_inner = depth_inside ? depth : round_up(side);
  static constexpr int64_t chunks = P::batches * outer * (padded_inner / 4);
  static constexpr int64_t elements = P::batches * outer * padded_inner * parts;

  struct Chunk {
    typename P::Index batch, outer, inner;
  };
  static __device__ __forceinline__ Chunk chunk(int64_t index) {
    constexpr int64_t wide = padded_inner / 4;
    return {static_cast<typename P::Index>(index / wide / outer),
            static_cast<typename P::Index>(index / wide % outer),
            static_cast<typename P::Index>(index % wide * 4)};
  }
  static __device__ __forceinline__ typename P::Index source(const Chunk& at, int i) {
    if constexpr (is_left)
      return depth_inside ? P::left(at.batch, at.outer, at.inner + i)
                          : P::left(at.batch, at.inner + i, at.outer);
    else
      return depth_inside ? P::right(at.batch, at.inner + i, at.outer)
                          : P::right(at.batch, at.outer, at.inner + i);
  }
  // Where part `p` of a chunk goes.
  static __device__ __forceinline__ int64_t place(const Chunk& at, int p) {
    if constexpr (depth_inside)
      return ((at.batch * outer + at.outer) * parts + p) * padded_inner + at.inner;
    else
      return ((static_cast<int64_t>(at.batch) * parts + p) * outer + at.outer) * padded_inner + at.inner;
  }
  template <bool vectors>
  static __device__ __forceinline__ Pack<float, 4> load_chunk(const float* __restrict__ from,
                                                              const Chunk& at) {
    Pack<float, 4> values = {};
    if (!depth_inside && at.outer >= P::depth) return values;
    if constexpr (vectors) {
      if (at.inner < inner) values = stitch::load<4>(from + source(at, 0), 0);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (at.inner + i < inner) values[i] = from[source(at, i)];
    }
    return values;
  }
};

// largest = max |x|, from 0. Bits of floats without sign are in the floats' order, and NaN stands above all.
template <class S, bool vectors>
__global__ void __launch_bounds__(256) largest_magnitude(const float* __restrict__ from, float* largest) {
  float most = 0.0f;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x; i < S::chunks;
       i += static_cast<int64_t>(gridDim.x) * 256) {
    Pack<float, 4> values = S::template load_chunk<vectors>(from, S::chunk(i));
#pragma unroll
    for (int j = 0; j < 4; ++j)
      most = __int_as_float(max(__float_as_int(most), __float_as_int(fabsf(values[j]))));
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2)
    most =
        __int_as_float(max(__float_as_int(most), __float_as_int(__shfl_xor_sync(0xffffffffu, most, mask))));
  if (threadIdx.x % 32 == 0 && most != 0.0f) atomicMax(reinterpret_cast<int*>(largest), __float_as_int(most));
}

__device__ __forceinline__ float split_scale(float largest) {
  if (largest == 0.0f || !isfinite(largest)) return 1.0f;
  int exponent;
  frexpf(largest, &exponent);
  return ldexpf(1.0f, exponent < -111 ? 126 : 15 - exponent);
}

// What the operands were scaled by, and what the products are multiplied with.
struct SplitScales {
  float largest_left, largest_right;
  float first[2], second[2];  // alpha and beta of the product, and of the one that adds to it
};

// `last`: the second operand to be split sets the factors.
template <class S, bool scaled, bool last, bool vectors>
__global__ void __launch_bounds__(256)
    split_kernel(const float* __restrict__ from, __half* __restrict__ to, SplitScales* scales) {
  const float largest = S::left ? scales->largest_left : scales->largest_right;
  const float scale = scaled ? split_scale(largest) : 1.0f;
  if (last && blockIdx.x == 0 && threadIdx.x == 0) {
    const float other = split_scale(S::left ? scales->largest_right : scales->largest_left);
    scales->first[0] = scales->second[0] = 1.0f / scale / other;
    scales->first[1] = 0.0f;
    scales->second[1] = 1.0f;
  }
  const int64_t index = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (index >= S::chunks) return;
  const typename S::Chunk at = S::chunk(index);
  const Pack<float, 4> values = S::template load_chunk<vectors>(from, at);
  Pack<__half, 4> high, low;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float x = values[i] * scale;
    high[i] = __float2half_rn(x);
    low[i] = __float2half_rn((x - __half2float(high[i])) * (S::left ? 2048.0f : 1.0f));
  }
  auto put = [&](int part, const Pack<__half, 4>& pack) {
    *reinterpret_cast<Pack<__half, 4>*>(to + S::place(at, part)) = pack;
  };
  if constexpr (S::left) {
    put(0, high);
    put(1, low);
    if constexpr (S::parts == 3) put(2, high);
  } else {
    put(0, low);
    put(2, high);
#pragma unroll
    for (int i = 0; i < 4; ++i) high[i] = __float2half_rn(__half2float(high[i]) * (1.0f / 2048.0f));
    put(1, high);
  }
}

// Splits an operand. An operand that isn't scaled is taken to be within fp16's range.
// `quads`: every chunk lies side by side in memory, at 16 bytes if `from` does.
template <class S, bool scaled, bool last, bool quads>
StitchStatus split_operand(const float* from, __half* to, SplitScales* scales, cudaStream_t stream) {
  constexpr int64_t blocks = (S::chunks + 255) / 256;
  static_assert(blocks < (int64_t{1} << 31), "more chunks than a grid has threads");
  const Geometry geometry{static_cast<unsigned>(blocks), 256};
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(from) % 16 == 0)
      return launch("split_operand", split_kernel<S, scaled, last, true>, geometry, stream, from, to, scales);
  }
  return launch("split_operand", split_kernel<S, scaled, last, false>, geometry, stream, from, to, scales);
}

template <class S, bool quads>
StitchStatus find_largest(const float* from, SplitScales* scales, cudaStream_t stream) {
  float* largest = S::left ? &scales->largest_left : &scales->largest_right;
  STITCH_CUDA(cudaMemsetAsync(largest, 0, sizeof(float), stream));
  constexpr int64_t blocks = (S::chunks + 255) / 256;
  const Geometry geometry{static_cast<unsigned>(blocks < 1024 ? blocks : 1024), 256};
  if constexpr (quads) {
    if (reinterpret_cast<uintptr_t>(from) % 16 == 0)
      return launch("largest_magnitude", largest_magnitude<S, true>, geometry, stream, from, largest);
  }
  return launch("largest_magnitude", largest_magnitude<S, false>, geometry, stream, from, largest);
}

}  // namespace stitch
