// graph "golden"
// input %q : f32[1,2,8,5]
// input %k : f32[1,2,8,5]
// input %v : f32[1,2,8,5]
// %y = attention(%q, %k, %v) scale=0.125 : f32[1,2,8,5]
// output %y
// end

#include "stitch/kernels/attention.h"
#include "stitch/kernels/matmul.h"

// y (1, 2, 8, 5) = softmax(q (1, 2, 8, 5) · k (1, 2, 8, 5)ᵀ · 0.125) · v (1, 2, 8, 5)
// Scores in the workspace between two products on the CUDA cores.
struct GoldenScores {  // scores (1, 2, 1, 8, 8) = q (1, 2, 1, 8, 5) · k (1, 2, 8, 5)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 2, rows = 8, columns = 8, depth = 5;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index batch, Index row, Index k) { return batch * 40 + k + row * 5; }
  __device__ static Index right(Index batch, Index k, Index column) { return batch * 40 + column * 5 + k; }
  __device__ static Index out(Index batch, Index row, Index column) { return batch * 64 + column + row * 8; }
  __device__ static Index position(Index batch, Index row, Index column) {
    return batch * 64 + column + row * 8;
  }
};

struct GoldenScore {
  __device__ float operator()(float value, int) const {
    value *= 0.125f;
    return value;
  }
};

struct GoldenMix {  // y (1, 2, 1, 8, 5) = scores (1, 2, 1, 8, 8) · v (1, 2, 8, 5)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 2, rows = 8, columns = 5, depth = 8;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = false;
  __device__ static Index left(Index batch, Index row, Index k) { return batch * 64 + k + row * 8; }
  __device__ static Index right(Index batch, Index k, Index column) { return batch * 40 + column + k * 5; }
  __device__ static Index out(Index batch, Index row, Index column) { return batch * 40 + column + row * 5; }
  __device__ static Index position(Index batch, Index row, Index column) {
    return batch * 40 + column + row * 5;
  }
};

StitchStatus enqueue_golden(const float* q,  // (1, 2, 8, 5)
                            const float* k,  // (1, 2, 8, 5)
                            const float* v,  // (1, 2, 8, 5)
                            float* y,        // (1, 2, 8, 5)
                            void* workspace,
                            cudaStream_t stream) {
  auto* scores = static_cast<float*>(workspace);  // (1, 2, 1, 8, 8)
  STITCH_OK_OR_RETURN(stitch::enqueue_product<1>(
      "golden_scores", GoldenScores{}, q, k, scores, GoldenScore{}, stream));
  STITCH_OK_OR_RETURN(stitch::enqueue_safe_softmax(scores, 16, 8, stream));
  return stitch::enqueue_product<1>(
      "golden_mix", GoldenMix{}, scores, v, y, stitch::NoEpilogue{}, stream);
}
