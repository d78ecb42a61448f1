// graph "clusters"
// parameter %clusters : f32[512,48]
// input %x : f32[20480,512]
// %y = matmul(%x, %clusters) : f32[20480,48]
// %z = relu(%y) : f32[20480,48]
// output %z
// end

#include "stitch/kernels/matmul_tensor_core.h"

// z (20480, 48) = x (20480, 512) · clusters (512, 48), then relu
// In pairs of TF32 on tensor cores; kernels/matmul_tensor_core.h has the kernel.
struct GoldenProduct {  // z (20480, 48) = x (20480, 512) · clusters (512, 48)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 20480, columns = 48, depth = 512;
  static constexpr bool left_by_depth = true, right_by_depth = false, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 512; }
  __device__ static Index right(Index, Index k, Index column) { return column + k * 48; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 48; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 48; }
};

struct GoldenTiles {
  static constexpr int warp_rows = 4, warp_columns = 1, row_tiles = 1, column_tiles = 6;
  static constexpr int depth_tile = 32, stages = 3;
  static constexpr bool folds = true;
  static constexpr bool left_quads = true, right_quads = true, out_pairs = true;
};

struct GoldenEpilogue {
  __device__ float operator()(float value, int) const {
    return stitch::relu(value);
  }
};

StitchStatus enqueue_golden(const float* x,         // (20480, 512)
                            const float* clusters,  // (512, 48)
                            float* z,               // (20480, 48)
                            cudaStream_t stream) {
  return stitch::enqueue_tensor_core_product<GoldenTiles>(
      "golden", GoldenProduct{}, x, clusters, z, GoldenEpilogue{}, stream);
}
