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
#include "stitch/kernels/split_int8.h"

// y (256, 256) = x (256, 512) · fc_weight (256, 512), then bias, relu
// Large terms in fp16 and small ones in int8 on tensor cores.
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

struct GoldenEpilogue {
  const float* fc_bias;  // (256)
  __device__ float operator()(float value, int position) const {
    value += fc_bias[position % 256];
    return stitch::relu(value);
  }
};

using GoldenLeft = stitch::Int8Operand<GoldenProduct, true, true, 512>;  // of x
using GoldenRight = stitch::Int8Operand<GoldenProduct, false, true, 512>;  // of fc_weight

StitchStatus pack_golden_fc_weight(
    const float* fc_weight,  // (256, 512)
    __half* packed,          // fp16 and int8 of (256, 512), scales and means of 256
    cudaStream_t stream) {
  return stitch::split_in_int8<true>(GoldenRight{GoldenProduct{}}, fc_weight, packed, stream);
}

StitchStatus enqueue_golden(
    const float* x,                        // (256, 512)
    const float* fc_bias,                  // (256)
    const __half* golden_fc_weight_split,  // fp16 and int8 of (256, 512), scales and means of 256
    const stitch::Matmul& golden_small,
    const stitch::Matmul& golden_large,
    float* y,                              // (256, 256)
    void* workspace,
    cudaStream_t stream) {
  auto* dense_result = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);  // (2, 256, 256)
  // fp16 and int8 of (256, 512), scales and means of 256
  auto* left_split = reinterpret_cast<__half*>(static_cast<char*>(workspace) + 524288);
  STITCH_OK_OR_RETURN((stitch::split_in_int8<true>(GoldenLeft{GoldenProduct{}}, x, left_split, stream)));
  STITCH_OK_OR_RETURN(golden_small.enqueue(GoldenLeft{GoldenProduct{}}.small(left_split),
                                           GoldenRight{GoldenProduct{}}.small(golden_fc_weight_split),
                                           dense_result + 65536, stream));
  STITCH_OK_OR_RETURN(golden_large.enqueue(left_split, golden_fc_weight_split, dense_result, stream));
  return stitch::finish_int8_product<true>(
      "golden", GoldenLeft{GoldenProduct{}}, GoldenRight{GoldenProduct{}}, left_split, golden_fc_weight_split,
      dense_result, y, GoldenEpilogue{fc_bias}, stream);
}

// When the program is created:
stitch::Matmul golden_small;
{
  stitch::MatmulSpec spec{256, 256, 1024};  // rows, columns, depth
  spec.right_transposed = true;
  spec.left_row_stride = 1024;
  spec.right_row_stride = 1024;
  spec.type = CUDA_R_8I;
  spec.result_type = CUDA_R_32I;
  spec.compute = CUBLAS_COMPUTE_32I;
  spec.algorithm = golden_small_algorithm;
  STITCH_OK_OR_RETURN(golden_small.create(cublas, spec));
}
stitch::Matmul golden_large;
{
  stitch::MatmulSpec spec{256, 256, 512};  // rows, columns, depth
  spec.right_transposed = true;
  spec.left_row_stride = 512;
  spec.right_row_stride = 512;
  spec.type = CUDA_R_16F;
  spec.result_type = CUDA_R_32F;
  spec.algorithm = golden_large_algorithm;
  STITCH_OK_OR_RETURN(golden_large.create(cublas, spec));
}
