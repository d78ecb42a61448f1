// graph "golden"
// input %x : f32[256,512]
// parameter %fc_weight : f32[256,512]
// parameter %fc_bias : f32[256]
// %fc = linear(%x, %fc_weight, %fc_bias) : f32[256,256]
// %y = relu(%fc) : f32[256,256]
// output %y
// end

#include "stitch/runtime/cublaslt.h"
#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/split_half.h"

// y (256, 256) = x (256, 512) · fc_weight (256, 512), then bias, relu
// Each side scaled and rounded to fp16, one product on tensor cores with FP32 sums.
struct GoldenProduct {  // y (256, 256) = x (256, 512) · fc_weight (256, 512)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 256, columns = 256, depth = 512;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 512; }
  __device__ static Index right(Index, Index k, Index column) { return column * 512 + k; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 256; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 256; }
};

using GoldenLeft = stitch::SplitOperand<GoldenProduct, true, true, 1, 512, false>;  // of x
using GoldenRight = stitch::SplitOperand<GoldenProduct, false, true, 1, 512, true>;  // of fc_weight

StitchStatus pack_golden_fc_weight(const float* fc_weight,  // (256, 512)
                                   __half* packed,          // (1, 256, 512)
                                   cudaStream_t stream) {
  return stitch::split_weight<true>(
      GoldenRight{GoldenProduct{}}, fc_weight, packed, 131072, stitch::SplitBlocks{792, 132}, stream);
}

StitchStatus enqueue_golden(const float* x,                       // (256, 512)
                            stitch::SplitFactors* golden_factors,
                            float* golden_largest,                // (1056)
                            const __half* golden_fc_weight_half,  // (1, 256, 512)
                            int golden_blocks,                    // of a pass that converts
                            const stitch::Matmul& golden_matmul,
                            float* y,                             // (256, 256)
                            void* workspace,
                            cudaStream_t stream) {
  auto* left_half = reinterpret_cast<__half*>(static_cast<char*>(workspace) + 0);  // (1, 256, 512)
  STITCH_OK_OR_RETURN((stitch::split_operand<true, true>(
      GoldenLeft{GoldenProduct{}}, x, left_half, golden_largest,
      stitch::weight_scale(golden_fc_weight_half, 131072), golden_factors, 1.0f,
      stitch::SplitBlocks{golden_blocks, 132}, stream)));
  STITCH_OK_OR_RETURN(golden_matmul.enqueue(left_half, golden_fc_weight_half, y, stream));
  return STITCH_OK;
}

// When the program is created:
stitch::Matmul golden_matmul;
{
  stitch::MatmulSpec spec{256, 256, 512};  // rows, columns, depth
  spec.left_row_stride = 512;
  spec.right_transposed = true;
  spec.right_row_stride = 512;
  spec.type = CUDA_R_16F;
  spec.result_type = CUDA_R_32F;
  spec.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  spec.bias = fc_bias;
  spec.algorithm = golden_matmul_algorithm;
  spec.factors = golden_factors->first;
  STITCH_OK_OR_RETURN(golden_matmul.create(cublas, spec));
}
