#include "stitch/kernels/attention_flash.h"

// y (2, 4, 64, 32) = softmax(q (2, 4, 64, 32) · k (2, 4, 64, 32)ᵀ · 0.125) · v (2, 4, 64, 32)
// Online softmax over tiles of 64 keys, FP32 on the CUDA cores.
struct GoldenHeads {
  using Query = float;
  using Key = float;
  using Value = float;
  using Mask = float;
  using Out = float;
  using Index = int;
  static constexpr Index heads = 8, queries = 64, keys = 64;
  static constexpr int width = 32, value_width = 32;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr bool causal = false;
  static constexpr auto weights = stitch::Weights::safe_softmax;
  static constexpr auto masking = stitch::Masking::none;
  __device__ static Index q(Index head, Index query, Index i) { return head * 2048 + i + query * 32; }
  __device__ static Index k(Index head, Index key, Index i) { return head * 2048 + i + key * 32; }
  __device__ static Index v(Index head, Index key, Index i) { return head * 2048 + i + key * 32; }
  __device__ static Index mask(Index, Index, Index) { return 0; }
  __device__ static Index out(Index head, Index query, Index i) { return head * 2048 + i + query * 32; }
  __device__ static Index position(Index head, Index query, Index i) { return head * 2048 + i + query * 32; }
};

StitchStatus enqueue_golden(const float* q,  // (2, 4, 64, 32)
                            const float* k,  // (2, 4, 64, 32)
                            const float* v,  // (2, 4, 64, 32)
                            float* y,        // (2, 4, 64, 32)
                            cudaStream_t stream) {
  return stitch::enqueue_flash<GoldenHeads>(
      "golden", q, k, v, nullptr, y, stitch::NoEpilogue{}, stream);
}
