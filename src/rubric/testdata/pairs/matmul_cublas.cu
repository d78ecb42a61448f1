#include <cublas_v2.h>
constexpr int M = 4096, N = 4096, K = 4096;
struct StitchProgram { cublasHandle_t handle; };
int stitch_create(StitchProgram* program) { return cublasCreate(&program->handle); }
int stitch_run(StitchProgram* program, const float* const* in, float* const* out, cudaStream_t stream) {
  const float one = 1.f, zero = 0.f;
  cublasSetStream(program->handle, stream);
  cublasSgemm(program->handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, in[1], N, in[0], K, &zero, out[0], N);
  return 0;
}
