// graph "golden"
// input %a : f32[128,16384]
// input %b : f32[16384,128]
// %y = matmul(%a, %b) : f32[128,128]
// output %y
// end

#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/matmul_long.h"

// y (128, 128) = a (128, 16384) · b (16384, 128)
// Split into fp16 on the way to tensor cores, 128 segments of the depth.
struct GoldenProduct {  // y (128, 128) = a (128, 16384) · b (16384, 128)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 128, columns = 128, depth = 16384;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 16384; }
  __device__ static Index right(Index, Index k, Index column) { return column + k * 128; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 128; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 128; }
};

struct GoldenLong {
  static constexpr int64_t segment = 128;  // of the depth
  static constexpr bool left_quads = true, right_quads = true;
};

StitchStatus enqueue_golden(const float* a,  // (128, 16384)
                            const float* b,  // (16384, 128)
                            float* y,        // (128, 128)
                            void* workspace,
                            cudaStream_t stream) {
  auto* dense_result = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);  // (128, 128, 128)
  STITCH_OK_OR_RETURN(stitch::enqueue_long_sums<GoldenLong>(
      "golden", GoldenProduct{}, a, b, dense_result, stream));
  return stitch::finish_product<128, 1, true>("golden", GoldenProduct{}, dense_result, y,
                                              stitch::NoEpilogue{}, stream);
}
