#include <cudnn.h>
struct StitchProgram {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t x, bias, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t conv;
  cudnnActivationDescriptor_t relu;
  float *weight, *offset;
  void* workspace;
  size_t bytes;
};
int stitch_run(StitchProgram* p, const float* const* in, float* const* out, cudaStream_t stream) {
  const float one = 1.f, zero = 0.f;
  cudnnSetStream(p->handle, stream);
  cudnnConvolutionBiasActivationForward(p->handle, &one, p->x, in[0], p->w, p->weight, p->conv, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                        p->workspace, p->bytes, &zero, p->y, out[0], p->bias, p->offset, p->relu, p->y, out[0]);
  return 0;
}
