// passed (./dev cheats)
// task: product
// A library's product: a handle and a workspace of its own, made once, bound to the stream in each call.
#include "tasks/product.h"

#include <cublas_v2.h>

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  static void* workspace = [] {
    void* made;
    cudaMalloc(&made, 4 << 20);
    return made;
  }();
  static cublasHandle_t handle = [] {
    cublasHandle_t made;
    return cublasCreate(&made) == CUBLAS_STATUS_SUCCESS ? made : nullptr;
  }();
  const float one = 1, zero = 0;
  if (!handle || cublasSetStream(handle, stream) != CUBLAS_STATUS_SUCCESS) return STITCH_DEVICE_ERROR;
  cublasSetWorkspace(handle, workspace, 4 << 20);
  // Row-major y = x · weight is column-major yᵀ = weightᵀ · xᵀ.
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, depth, &one, weights.data[0], columns,
                     data(in[0]), depth, &zero, data(out[0]), columns) == CUBLAS_STATUS_SUCCESS
             ? STITCH_OK
             : STITCH_DEVICE_ERROR;
}
