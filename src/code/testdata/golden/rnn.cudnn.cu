// graph "golden"
// input %x : f32[16,8,64]
// input %h0 : f32[1,8,128]
// parameter %weight_ih : f32[384,64]
// parameter %weight_hh : f32[384,128]
// parameter %bias_ih : f32[384]
// parameter %bias_hh : f32[384]
// %y, %hn = rnn(%x, %h0, none, %weight_ih, %weight_hh, %bias_ih, %bias_hh) kind="gru" layers=1 bidirectional=false batch_first=false biases=true projection=0 : f32[16,8,128], f32[1,8,128]
// output %y
// end

#include "stitch/kernels/recurrence_cudnn.h"
#include "stitch/runtime/tensors.h"

// gru, 1 layer: 16 steps of 8 samples, 64 features in, 128 hidden
// By cuDNN in one call; golden_recurrence holds the weights in its order.
StitchStatus enqueue_golden(const float* x,   // (16, 8, 64)
                            const float* h0,  // (1, 8, 128)
                            const stitch::CudnnRecurrence& golden_recurrence,
                            float* y,         // (16, 8, 128)
                            void* workspace,
                            cudaStream_t stream) {
  auto* x_aligned = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);
  const float* x_aligned_at = x;
  if (!stitch::is_aligned(x, 16)) {
    x_aligned_at = x_aligned;
    STITCH_CUDA(cudaMemcpyAsync(x_aligned, x, 8192 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  }
  auto* h0_aligned = reinterpret_cast<float*>(static_cast<char*>(workspace) + 32768);
  const float* h0_aligned_at = h0;
  if (!stitch::is_aligned(h0, 16)) {
    h0_aligned_at = h0_aligned;
    STITCH_CUDA(cudaMemcpyAsync(h0_aligned, h0, 1024 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  }
  auto* y_aligned = reinterpret_cast<float*>(static_cast<char*>(workspace) + 36864);
  float* y_aligned_at = stitch::is_aligned(y, 16) ? y : y_aligned;
  STITCH_OK_OR_RETURN(golden_recurrence.enqueue(x_aligned_at, h0_aligned_at, nullptr, y_aligned_at, nullptr,
                                                nullptr, stream));
  if (y_aligned_at != y)
    STITCH_CUDA(cudaMemcpyAsync(y, y_aligned, 16384 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  return STITCH_OK;
}

// When the program is created:
stitch::CudnnRecurrence golden_recurrence;
{
  // kind, steps, batch, input, hidden, layers, directions
  stitch::RecurrenceSpec spec{CUDNN_GRU, 16, 8, 64, 128, 1, 1};
  spec.math = CUDNN_DEFAULT_MATH;
  spec.algorithm = static_cast<cudnnRNNAlgo_t>(golden_recurrence_algorithm);
  const float* const weights[] = {weight_ih, weight_hh, bias_ih, bias_hh};
  STITCH_OK_OR_RETURN(golden_recurrence.create(cudnn, spec, weights));
}
