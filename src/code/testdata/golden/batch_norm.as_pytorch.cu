// graph "golden"
// input %x : f32[8,16,32,32]
// parameter %bn_weight : f32[16]
// parameter %bn_bias : f32[16]
// buffer %bn_running_mean : f32[16]
// buffer %bn_running_var : f32[16]
// %bn, %bn_mean, %bn_var = batch_norm(%x, %bn_weight, %bn_bias, %bn_running_mean, %bn_running_var) training=true : f32[8,16,32,32], f32[16], f32[16]
// output %bn
// end

#include "stitch/kernels/batch_norm_cudnn.h"
#include "stitch/runtime/tensors.h"

// A batch norm by cuDNN, as PyTorch calls it.
StitchStatus enqueue_golden(const float* x,                // (8, 16, 32, 32)
                            const float* bn_weight,        // (16)
                            const float* bn_bias,          // (16)
                            const float* bn_running_mean,  // (16)
                            const float* bn_running_var,   // (16)
                            const stitch::CudnnBatchNorm& golden_batch_norm,
                            float* bn,                     // (8, 16, 32, 32)
                            void* workspace,
                            cudaStream_t stream) {
  auto* x_aligned = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);
  const float* x_aligned_at = x;
  if (!stitch::is_aligned(x, 16)) {
    x_aligned_at = x_aligned;
    STITCH_CUDA(cudaMemcpyAsync(x_aligned, x, 131072 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  }
  auto* bn_aligned = reinterpret_cast<float*>(static_cast<char*>(workspace) + 524288);
  float* bn_aligned_at = stitch::is_aligned(bn, 16) ? bn : bn_aligned;
  STITCH_OK_OR_RETURN(golden_batch_norm.enqueue(x_aligned_at, bn_weight, bn_bias, bn_running_mean,
                                                bn_running_var, bn_aligned_at, nullptr, nullptr, stream));
  if (bn_aligned_at != bn)
    STITCH_CUDA(cudaMemcpyAsync(bn, bn_aligned, 131072 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  return STITCH_OK;
}

// When the program is created:
stitch::CudnnBatchNorm golden_batch_norm;
STITCH_OK_OR_RETURN(golden_batch_norm.create(cudnn, {4, {8, 16, 32, 32}, 0.1, 1e-05}));
