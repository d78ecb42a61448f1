// Tensor cores four warps at a time (wgmma, sm_90a): 64 x 64 sums in FP32 of products 16 deep of fp16 or bf16
// numbers. The left operand and the sums are in registers, 16 rows a warp, as mma.h has them; the right one
// is in shared memory, in panels of 64 numbers (128 bytes) a row whose 16-byte pieces are swizzled:
//   piece p of row r stands at r * 128 + (p ^ r % 8) * 16, and a panel begins at a multiple of 1024 bytes
// A product goes on while the warps do something else, until finish_products: nobody touches its operands and
// sums. STITCH_WGMMA: is it there, in this compilation?
#pragma once

#include "stitch/runtime/mma.h"

#if STITCH_EMULATED || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define STITCH_WGMMA 1
#else
#define STITCH_WGMMA 0
#endif

namespace stitch {
// Of a 16-byte piece, in numbers of 2 bytes.
__host__ __device__ constexpr int swizzled(int row, int piece) { return row * 64 + (piece ^ row % 8) * 8; }

#if STITCH_WGMMA
// What was copied to shared memory may be read by products, after a barrier.
__device__ __forceinline__ void show_to_products() {
#if !STITCH_EMULATED
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
// Registers of the products that follow are what they are now.
__device__ __forceinline__ void begin_products() {
#if !STITCH_EMULATED
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void finish_products() {
#if !STITCH_EMULATED
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

#if !STITCH_EMULATED
__device__ __forceinline__ uint64_t panel_descriptor(const __half* panel) {
  constexpr uint64_t eight_rows = 1024 >> 4, swizzle_128 = uint64_t{1} << 62;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(panel));
  return ((at & 0x3ffff) >> 4) | uint64_t{1} << 16 | eight_rows << 32 | swizzle_128;
}
#define STITCH_WGMMA_CALL(type, by_columns)                                                               \
  asm volatile(                                                                                           \
      "{.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                                          \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                         \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
      "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, "         \
      "1, " by_columns ";}"                                                                               \
      : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[0][2]), "+f"(sums[0][3]), "+f"(sums[1][0]),         \
        "+f"(sums[1][1]), "+f"(sums[1][2]), "+f"(sums[1][3]), "+f"(sums[2][0]), "+f"(sums[2][1]),         \
        "+f"(sums[2][2]), "+f"(sums[2][3]), "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[3][2]),         \
        "+f"(sums[3][3]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[4][2]), "+f"(sums[4][3]),         \
        "+f"(sums[5][0]), "+f"(sums[5][1]), "+f"(sums[5][2]), "+f"(sums[5][3]), "+f"(sums[6][0]),         \
        "+f"(sums[6][1]), "+f"(sums[6][2]), "+f"(sums[6][3]), "+f"(sums[7][0]), "+f"(sums[7][1]),         \
        "+f"(sums[7][2]), "+f"(sums[7][3])                                                                \
      : "r"(left.parts[0]), "r"(left.parts[1]), "r"(left.parts[2]), "r"(left.parts[3]),                   \
        "l"(panel_descriptor(at)), "r"(accumulate ? 1 : 0))
#endif

// sums (+)= left · right, 16 deep. by_rows: the panel's 64 rows are the right operand's columns, from number
// `depth` of each on. Otherwise its 64 numbers a row are, and rows from `depth` on. `depth`: a multiple
// of 16.
template <bool by_rows, bool bfloat>
__device__ __forceinline__ void multiply_panel(float (&sums)[8][4], const MmaLeft& left, const __half* panel,
                                               int depth, bool accumulate) {
#if STITCH_EMULATED
  const int lane = emulated_mma::lane(), group = lane / 4, pair = lane % 4;
  auto numbers = [](uint32_t two) { return bfloat ? float_pair_of_bfloats(two) : float_pair(two); };
  float rows[2][16];
  for (int other = 0; other < 4; ++other)
    for (int p = 0; p < 4; ++p) {
      const float2 two = numbers(__shfl_sync(0xffffffffu, left.parts[p], group * 4 + other));
      rows[p % 2][p / 2 * 8 + 2 * other] = two.x;
      rows[p % 2][p / 2 * 8 + 2 * other + 1] = two.y;
    }
  for (int n = 0; n < 8; ++n)
    for (int i = 0; i < 4; ++i) {
      const int column = n * 8 + 2 * pair + i % 2;
      float sum = accumulate ? sums[n][i] : 0.0f;
      for (int k = 0; k < 16; ++k) {
        const int row = by_rows ? column : depth + k, number = by_rows ? depth + k : column;
        const __half* at = panel + swizzled(row, number / 8) + number % 8;
        sum += rows[i / 2][k] * numbers(emulated_mma::pair_of(*at, *at)).x;
      }
      sums[n][i] = sum;
    }
#else
  const __half* at = panel + (by_rows ? depth : depth * 64);
  if constexpr (by_rows && bfloat)
    STITCH_WGMMA_CALL("bf16", "0");
  else if constexpr (by_rows)
    STITCH_WGMMA_CALL("f16", "0");
  else if constexpr (bfloat)
    STITCH_WGMMA_CALL("bf16", "1");
  else
    STITCH_WGMMA_CALL("f16", "1");
#endif
}
#endif

}  // namespace stitch
