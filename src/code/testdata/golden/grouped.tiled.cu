#include "stitch/kernels/matmul_grouped.h"

// y (16, 16) = x (16, 8) · w (2, 8, 16), a matrix a group
// Tiles in shared memory, group by group; kernels/matmul_grouped.h has the kernel.
struct GoldenGroups {
  using Number = __nv_bfloat16;
  using Offset = int32_t;
  static constexpr int64_t rows = 16, columns = 16, depth = 8, groups = 2;
  static constexpr int64_t x_row = 8, x_step = 1, out_row = 16, out_column = 1;
  static constexpr int64_t weight_group = 128, weight_step = 16, weight_column = 1;
  static constexpr bool weight_by_depth = false;
};

StitchStatus enqueue_golden(const __nv_bfloat16* x,  // (16, 8)
                            const __nv_bfloat16* w,  // (2, 8, 16)
                            const int32_t* ends,     // (2)
                            __nv_bfloat16* y,        // (16, 16)
                            cudaStream_t stream) {
  return stitch::enqueue_grouped_matmul<GoldenGroups>(
      "golden", x, w, ends, y, stream);
}
