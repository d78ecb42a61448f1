// graph "golden"
// input %x : f32[128,512]
// parameter %fc_weight : f32[256,512]
// parameter %fc_bias : f32[256]
// %fc = linear(%x, %fc_weight, %fc_bias) : f32[128,256]
// %y = relu(%fc) : f32[128,256]
// output %y
// end

#include "stitch/runtime/cublaslt.h"
#include "stitch/kernels/matmul_arrange.h"

// y (128, 256) = x (128, 512) · fc_weight (256, 512), then bias, relu
// By cuBLASLt; golden_matmul holds the algorithm.
StitchStatus enqueue_golden(const float* x,          // (128, 512)
                            const float* fc_weight,  // (256, 512)
                            const stitch::Matmul& golden_matmul,
                            float* y,                // (128, 256)
                            cudaStream_t stream) {
  STITCH_OK_OR_RETURN(golden_matmul.enqueue(x, fc_weight, y, stream));
  return STITCH_OK;
}

// When the program is created:
stitch::Matmul golden_matmul;
{
  stitch::MatmulSpec spec{128, 256, 512};  // rows, columns, depth
  spec.right_transposed = true;
  spec.type = CUDA_R_32F;
  spec.result_type = CUDA_R_32F;
  spec.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  spec.bias = fc_bias;
  spec.algorithm = golden_matmul_algorithm;
  STITCH_OK_OR_RETURN(golden_matmul.create(cublas, spec));
}
