// graph "golden"
// input %x : bf16[16,8]
// input %w : bf16[2,8,16]
// input %ends : i32[2]
// %y = grouped_matmul(%x, %w, %ends) : bf16[16,16]
// output %y
// end

#include "stitch/kernels/matmul_grouped.h"

// grouped_matmul: tiles of each group's rows on tensor cores; kernels/matmul_grouped.h has the kernel.
struct GoldenGroups {
  static constexpr int64_t rows = 16, columns = 16, depth = 8;
  static constexpr int groups = 2;
};

StitchStatus enqueue_golden(const __nv_bfloat16* x,  // (16, 8)
                            const __nv_bfloat16* w,  // (2, 8, 16)
                            const int32_t* ends,     // (2)
                            __nv_bfloat16* y,        // (16, 16)
                            cudaStream_t stream) {
  return stitch::enqueue_grouped_product<GoldenGroups>("golden", x, w, ends, y, stream);
}
