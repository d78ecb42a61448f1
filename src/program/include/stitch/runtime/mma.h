// Warp-level tensor-core products: 16 x 8 FP32 sums of depth 16 in fp16 or bf16 (mma.sync m16n8k16), and
// loads of operands from shared memory (ldmatrix). Lane l is thread l % 4 (`pair`) of group l / 4 (`group`):
//   left   16 rows x 16 deep: parts 0..3 hold rows group, group + 8, group, group + 8; the last two 8 deeper;
//                             two adjacent elements 2 · pair, 2 · pair + 1 along the depth
//   right  16 deep x 8 columns: column group; the same depths in parts 0 and 1
//   sums   16 rows x 8 columns: 0, 1: row group, columns 2 · pair, 2 · pair + 1; 2, 3: row group + 8
// So the sums of two adjacent tiles, rounded to fp16, are a left operand without exchange between lanes.
// With TF32 (mma.sync m16n8k8) products are 8 deep and a part is one number: of the left operand at depth
// pair, the last two 4 deeper; of the right one at depths pair and pair + 4.
// Tiles in shared memory are row-major, 16-byte aligned; a pitch that is an odd multiple of 16 bytes avoids
// bank conflicts.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "stitch/runtime/vectors.h"

namespace stitch {
struct MmaLeft {
  uint32_t parts[4];
};
struct MmaRight {
  uint32_t parts[2];
};

__device__ __forceinline__ uint32_t half_pair(float first, float second) {
  const __half2 pair = __floats2half2_rn(first, second);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ float2 float_pair(uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

#if STITCH_EMULATED
namespace emulated_mma {
inline int lane() { return static_cast<int>(threadIdx.x % 32); }
inline uint32_t pair_of(__half first, __half second) {
  const __half2 pair = __halves2half2(first, second);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
}  // namespace emulated_mma
#endif

// 16 x 16 elements of the left operand, stored by rows.
__device__ __forceinline__ MmaLeft load_left(const __half* tile, int pitch) {
  MmaLeft out;
#if STITCH_EMULATED
  const int group = emulated_mma::lane() / 4, pair = emulated_mma::lane() % 4;
  for (int p = 0; p < 4; ++p) {
    const __half* at = tile + (group + p % 2 * 8) * pitch + p / 2 * 8 + 2 * pair;
    out.parts[p] = emulated_mma::pair_of(at[0], at[1]);
  }
#else
  const int lane = threadIdx.x % 32;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(tile + lane % 16 * pitch + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.parts[0]), "=r"(out.parts[1]), "=r"(out.parts[2]), "=r"(out.parts[3])
               : "r"(at));
#endif
  return out;
}

// 16 columns of the right operand, each stored as a row, 16 deep: two operands.
__device__ __forceinline__ void load_right_from_rows(MmaRight (&out)[2], const __half* tile, int pitch) {
#if STITCH_EMULATED
  const int group = emulated_mma::lane() / 4, pair = emulated_mma::lane() % 4;
  for (int o = 0; o < 2; ++o)
    for (int p = 0; p < 2; ++p) {
      const __half* at = tile + (group + o * 8) * pitch + p * 8 + 2 * pair;
      out[o].parts[p] = emulated_mma::pair_of(at[0], at[1]);
    }
#else
  const int lane = threadIdx.x % 32;
  const auto at = static_cast<uint32_t>(
      __cvta_generic_to_shared(tile + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0].parts[0]), "=r"(out[0].parts[1]), "=r"(out[1].parts[0]), "=r"(out[1].parts[1])
               : "r"(at));
#endif
}

// 16 columns of the right operand, stored by rows of the depth: two operands.
__device__ __forceinline__ void load_right_from_columns(MmaRight (&out)[2], const __half* tile, int pitch) {
#if STITCH_EMULATED
  const int group = emulated_mma::lane() / 4, pair = emulated_mma::lane() % 4;
  for (int o = 0; o < 2; ++o)
    for (int p = 0; p < 2; ++p) {
      const __half* at = tile + (p * 8 + 2 * pair) * pitch + o * 8 + group;
      out[o].parts[p] = emulated_mma::pair_of(at[0], at[pitch]);
    }
#else
  const int lane = threadIdx.x % 32;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(tile + lane % 16 * pitch + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0].parts[0]), "=r"(out[0].parts[1]), "=r"(out[1].parts[0]), "=r"(out[1].parts[1])
               : "r"(at));
#endif
}

// ldmatrix.x4 with any row addresses: lane 8 m + r supplies row r of matrix m. The matrices are parts 0..3 of
// a left operand: rows 0..7 and 8..15, then both 8 deeper; or of two right ones: both depths of columns 0..7,
// then of columns 8..15.
__device__ __forceinline__ void load_matrices(uint32_t (&out)[4], const void* row) {
#if STITCH_EMULATED
  const uint32_t* rows[4];
  stitch_emulated::matrix_rows(rows, row, __LINE__);
  for (int m = 0; m < 4; ++m) out[m] = rows[m][emulated_mma::lane() % 4];
#else
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(at));
#endif
}

// sums, left and right: of the function around it.
#if STITCH_EMULATED
#define STITCH_MMA(kind, type) \
  stitch_emulated::multiply_operands(stitch_emulated::Operands::type, sums, left.parts, right.parts, __LINE__)
#else
#define STITCH_MMA(kind, type)                                                                               \
  asm("mma.sync.aligned." kind " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"            \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                           \
      : "r"(left.parts[0]), "r"(left.parts[1]), "r"(left.parts[2]), "r"(left.parts[3]), "r"(right.parts[0]), \
        "r"(right.parts[1]))
#endif

// sums += left · right
__device__ __forceinline__ void mma(float (&sums)[4], const MmaLeft& left, const MmaRight& right) {
  STITCH_MMA("m16n8k16.row.col.f32.f16.f16.f32", half);
}

// For bf16: operands are loaded like fp16, two bytes each.
__device__ __forceinline__ uint32_t bfloat_pair(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ float2 float_pair_of_bfloats(uint32_t pair) {
  return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
}
__device__ __forceinline__ void mma_bfloat(float (&sums)[4], const MmaLeft& left, const MmaRight& right) {
  STITCH_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", bfloat);
}

// To ten bits of mantissa, ties away from zero.
__device__ __forceinline__ uint32_t tf32_bits(float value) {
#if STITCH_EMULATED
  const uint32_t bits = __float_as_uint(value);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  return finite ? (bits + 0x1000u) & ~0x1fffu : bits;
#else
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
#endif
}

// sums += left · right, 8 deep, of TF32 numbers
__device__ __forceinline__ void mma_tf32(float (&sums)[4], const MmaLeft& left, const MmaRight& right) {
  STITCH_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", tf32);
}

#undef STITCH_MMA

// By the operands' type: float in TF32.
template <class Element>
__device__ __forceinline__ void mma_of(float (&sums)[4], const MmaLeft& left, const MmaRight& right) {
  if constexpr (std::is_same_v<Element, float>)
    mma_tf32(sums, left, right);
  else if constexpr (std::is_same_v<Element, __half>)
    mma(sums, left, right);
  else
    mma_bfloat(sums, left, right);
}

// totals += sums, which start again: tensor cores truncate sums, so long ones are added up on CUDA cores.
template <int rows, int columns>
__device__ __forceinline__ void fold_sums(float (&totals)[rows][columns][4],
                                          float (&sums)[rows][columns][4]) {
#pragma unroll
  for (int m = 0; m < rows; ++m)
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        totals[m][n][i] += sums[m][n][i];
        sums[m][n][i] = 0.0f;
      }
}

// 16 rows of 32 columns of a warp's sums (tiles 4 · part to 4 · part + 3) by rows of `pitch` floats in shared
// memory, so that a lane has a column.
template <int pitch, int tiles>
__device__ __forceinline__ void stage_sums(float* stage, const float (&sums)[tiles][4], int part) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const float(&sum)[4] = sums[part * 4 + t];
    float* to = stage + lane / 4 * pitch + t * 8 + lane % 4 * 2;
    *reinterpret_cast<Pack<float, 2>*>(to) = {{sum[0], sum[1]}};
    *reinterpret_cast<Pack<float, 2>*>(to + 8 * pitch) = {{sum[2], sum[3]}};
  }
  __syncwarp();
}

}  // namespace stitch
