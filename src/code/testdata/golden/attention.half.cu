// graph "golden"
// input %q : bf16[2,8,1,64]
// input %k : bf16[2,2,1000,64]
// input %v : bf16[2,2,1000,64]
// input %mask : bool[2,1,1,1000]
// %o = attention(%q, %k, %v, %mask) scale=0.125 : bf16[2,8,1,64]
// output %o
// end

#include "stitch/kernels/attention_half.h"

// o (2, 8, 1, 64) = softmax(q (2, 8, 1, 64) · k (2, 2, 1000, 64)ᵀ · 0.125 + mask (2, 1, 1, 1000)) · v
// (2, 2, 1000, 64)
// Online softmax over tiles of 64 keys on tensor cores. A block has 4 heads of q that share k and v. 16
// blocks share the keys; a second pass combines.
struct GoldenHeads {
  using Query = __nv_bfloat16;
  using Key = __nv_bfloat16;
  using Value = __nv_bfloat16;
  using Mask = bool;
  using Out = __nv_bfloat16;
  using Index = int;
  static constexpr Index heads = 16, queries = 1, keys = 1000;
  static constexpr int width = 64, value_width = 64;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr bool causal = false;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = stitch::Masking::keeping;
  static constexpr int warps = 1, row_tiles = 1, key_tile = 64, group = 4, splits = 16, stages = 1;
  static constexpr int rest = 40;
  static constexpr Index k_step = 64, v_step = 64;
  static constexpr bool runs = true, out_pairs = true, mask_queries = false;
  static constexpr int mask_run = 4;
  __device__ static Index q(Index head, Index, Index i) { return head * 64 + i; }
  __device__ static Index k(Index head, Index key, Index i) {
    return ((head % 8) / 4) * 64000 + (head / 8) * 128000 + i + key * 64;
  }
  __device__ static Index v(Index head, Index key, Index i) {
    return ((head % 8) / 4) * 64000 + (head / 8) * 128000 + i + key * 64;
  }
  static constexpr Index k_joint = 1000, v_joint = 1000;
  __device__ static Index k_tail(Index, Index, Index) { return 0; }
  __device__ static Index v_tail(Index, Index, Index) { return 0; }
  __device__ static Index mask(Index head, Index, Index key) { return (head / 8) * 1000 + key; }
  __device__ static Index out(Index head, Index, Index i) { return head * 64 + i; }
  __device__ static Index position(Index head, Index, Index i) { return head * 64 + i; }
};

StitchStatus enqueue_golden(const __nv_bfloat16* q,  // (2, 8, 1, 64)
                            const __nv_bfloat16* k,  // (2, 2, 1000, 64)
                            const __nv_bfloat16* v,  // (2, 2, 1000, 64)
                            const bool* mask,        // (2, 1, 1, 1000)
                            __nv_bfloat16* o,        // (2, 8, 1, 64)
                            void* workspace,
                            cudaStream_t stream) {
  return stitch::enqueue_half_attention(
      "golden", GoldenHeads{}, q, k, v, mask, o, stitch::NoEpilogue{}, static_cast<float*>(workspace),
      stream);
}
