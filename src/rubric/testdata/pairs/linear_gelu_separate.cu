#include <cublasLt.h>
constexpr int M = 1024, N = 4096, K = 1024;
__global__ void add_bias(float* y, const float* bias) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = y[i] + bias[i % N];
}
__global__ void gelu(float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 0.5f * y[i] * (1.f + erff(y[i] * 0.70710678f));
}
struct StitchProgram {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, c;
  float *weight, *bias;
};
int stitch_create(StitchProgram* p) {
  cublasLtCreate(&p->handle);
  cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  return 0;
}
int stitch_run(StitchProgram* p, const float* const* in, float* const* out, cudaStream_t stream) {
  const float one = 1.f, zero = 0.f;
  cublasLtMatmul(p->handle, p->product, &one, p->weight, p->a, in[0], p->b, &zero, out[0], p->c, out[0], p->c, nullptr, nullptr, 0, stream);
  add_bias<<<M * N / 256, 256, 0, stream>>>(out[0], p->bias);
  gelu<<<M * N / 256, 256, 0, stream>>>(out[0]);
  return 0;
}
