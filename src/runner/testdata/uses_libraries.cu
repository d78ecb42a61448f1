// y = 3x by cuBLAS, with handles of cuBLASLt and cuDNN made on the way: all of them behind the walls.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor* in, int, StitchTensor* out, int, void* stream) {
  static cublasHandle_t blas = nullptr;
  static cublasLtHandle_t light = nullptr;
  static cudnnHandle_t dnn = nullptr;
  last_error = "a library does not start";
  if (!blas && cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) return STITCH_DEVICE_ERROR;
  if (!light && cublasLtCreate(&light) != CUBLAS_STATUS_SUCCESS) return STITCH_DEVICE_ERROR;
  if (!dnn && cudnnCreate(&dnn) != CUDNN_STATUS_SUCCESS) return STITCH_DEVICE_ERROR;
  const int n = static_cast<int>(elements(in[0]));
  const float three = 3;
  cublasSetStream(blas, static_cast<cudaStream_t>(stream));
  cudaMemcpyAsync(out[0].data, in[0].data, n * sizeof(float), cudaMemcpyDeviceToDevice,
                  static_cast<cudaStream_t>(stream));
  if (cublasSscal(blas, n, &three, static_cast<float*>(out[0].data), 1) != CUBLAS_STATUS_SUCCESS)
    return STITCH_DEVICE_ERROR;
  return STITCH_OK;
}
