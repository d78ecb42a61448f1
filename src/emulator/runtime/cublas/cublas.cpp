// cuBLAS: handle and products.
#include <algorithm>

#include "cublas/matmul.h"
#include "error.h"

using namespace stitch_emulated;

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

namespace {

struct Named {
  cublasStatus_t code;
  const char *name, *text;
};
constexpr Named statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value was passed"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the GPU lacks what was asked for"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "GPU memory could not be accessed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the license could not be checked"},
};
const Named* find(cublasStatus_t status) {
  for (const Named& entry : statuses)
    if (entry.code == status) return &entry;
  return nullptr;
}

// Common form of all products.
struct Gemm {
  const char* name;
  cublasHandle_t handle;
  cublasOperation_t transa, transb;
  int m, n, k;
  const void *alpha, *a;
  cudaDataType a_type;
  int lda;
  long long stride_a;
  const void* b;
  cudaDataType b_type;
  int ldb;
  long long stride_b;
  const void* beta;
  void* c;
  cudaDataType c_type;
  int ldc;
  long long stride_c;
  int batch;
  cublasComputeType_t compute;
};

bool is_operation(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }

bool types_are_supported(const Gemm& g) {
  if (g.a_type != g.b_type) return false;
  switch (g.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return g.a_type == CUDA_R_16F && g.c_type == CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return g.a_type == CUDA_R_64F && g.c_type == CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return g.a_type == CUDA_R_8I && g.c_type == CUDA_R_32I;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (g.c_type == CUDA_R_32F)
        return g.a_type == CUDA_R_32F || g.a_type == CUDA_R_16F || g.a_type == CUDA_R_16BF ||
               g.a_type == CUDA_R_8I;
      return g.a_type == g.c_type && (g.a_type == CUDA_R_16F || g.a_type == CUDA_R_16BF);
    default: return g.a_type == CUDA_R_32F && g.c_type == CUDA_R_32F;
  }
}

Matrix operand(const void* data, Element element, bool transposed, int64_t rows, int64_t columns, int ld,
               long long stride) {
  return {element, rows, columns, transposed ? ld : 1, transposed ? 1 : ld, stride, const_cast<void*>(data)};
}

cublasStatus_t submit(const Gemm& g) {
  if (!g.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_operation(g.transa) || !is_operation(g.transb) || g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = g.transa != CUBLAS_OP_N, tb = g.transb != CUBLAS_OP_N;
  if (g.lda < std::max(1, ta ? g.k : g.m) || g.ldb < std::max(1, tb ? g.n : g.k) || g.ldc < std::max(1, g.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!g.alpha || !g.beta) return CUBLAS_STATUS_INVALID_VALUE;
  Matmul product;
  Element a, b, c;
  if (!compute_of(g.compute, product.sum, product.precision)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!element_of(g.a_type, a) || !element_of(g.b_type, b) || !element_of(g.c_type, c) ||
      !types_are_supported(g))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!g.m || !g.n || !g.batch) return CUBLAS_STATUS_SUCCESS;
  if (g.compute == CUBLAS_COMPUTE_32F && a == Element::f32) {
    const int math = g.handle->math & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (math == CUBLAS_TF32_TENSOR_OP_MATH || math == CUBLAS_TENSOR_OP_MATH)
      product.precision = Precision::tf32;
  }
  product.name = g.name;
  product.a = operand(g.a, a, ta, g.m, g.k, g.lda, g.stride_a);
  product.b = operand(g.b, b, tb, g.k, g.n, g.ldb, g.stride_b);
  product.c = product.d = operand(g.c, c, false, g.m, g.n, g.ldc, g.stride_c);
  product.batch = g.batch;
  const Element scale = g.compute == CUBLAS_COMPUTE_16F || g.compute == CUBLAS_COMPUTE_16F_PEDANTIC
                            ? Element::f16
                            : product.sum;
  product.alpha.element = product.beta.element = scale;
  if (g.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    product.alpha.device = g.alpha;
    product.beta.device = g.beta;
  } else {
    product.alpha.value = read_one(scale, g.alpha);
    product.beta.value = read_one(scale, g.beta);
  }
  product.workspace = g.handle->workspace;
  product.workspace_bytes = g.handle->workspace_bytes;
  return submit_matmul(std::move(product), g.handle->stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                            : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (sticky_error()) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (!version) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  handle->workspace = nullptr;  // changing the stream resets the workspace
  handle->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (reinterpret_cast<uintptr_t>(workspace) % 256) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = workspace;
  handle->workspace_bytes = workspace ? bytes : 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int math = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if (math < 0 || math > CUBLAS_FP32_EMULATED_BF16X9_MATH) return CUBLAS_STATUS_INVALID_VALUE;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
const char* cublasGetStatusName(cublasStatus_t status) {
  const Named* entry = find(status);
  return entry ? entry->name : "CUBLAS_STATUS_UNKNOWN";
}
const char* cublasGetStatusString(cublasStatus_t status) {
  const Named* entry = find(status);
  return entry ? entry->text : "unknown error";
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                           int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                           const float* beta, float* c, int ldc) {
  return submit(
      {"cublasSgemm", handle, transa, transb, m, n,          k,   alpha, a, CUDA_R_32F,        lda, 0, b,
       CUDA_R_32F,    ldb,    0,      beta,   c, CUDA_R_32F, ldc, 0,     1, CUBLAS_COMPUTE_32F});
}
cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                           int n, int k, const double* alpha, const double* a, int lda, const double* b,
                           int ldb, const double* beta, double* c, int ldc) {
  return submit(
      {"cublasDgemm", handle, transa, transb, m, n,          k,   alpha, a, CUDA_R_64F,        lda, 0, b,
       CUDA_R_64F,    ldb,    0,      beta,   c, CUDA_R_64F, ldc, 0,     1, CUBLAS_COMPUTE_64F});
}
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                           int n, int k, const __half* alpha, const __half* a, int lda, const __half* b,
                           int ldb, const __half* beta, __half* c, int ldc) {
  return submit(
      {"cublasHgemm", handle, transa, transb, m, n,          k,   alpha, a, CUDA_R_16F,        lda, 0, b,
       CUDA_R_16F,    ldb,    0,      beta,   c, CUDA_R_16F, ldc, 0,     1, CUBLAS_COMPUTE_16F});
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k, const float* alpha,
                                         const float* a, int lda, long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int batch_count) {
  return submit({"cublasSgemmStridedBatched",
                 handle,
                 transa,
                 transb,
                 m,
                 n,
                 k,
                 alpha,
                 a,
                 CUDA_R_32F,
                 lda,
                 stride_a,
                 b,
                 CUDA_R_32F,
                 ldb,
                 stride_b,
                 beta,
                 c,
                 CUDA_R_32F,
                 ldc,
                 stride_c,
                 batch_count,
                 CUBLAS_COMPUTE_32F});
}
// A vector is a one-row matrix with columns `inc` apart.
cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float* alpha,
                           const float* a, int lda, const float* x, int incx, const float* beta, float* y,
                           int incy) {
  if (incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const cublasOperation_t other = trans == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int rows = trans == CUBLAS_OP_N ? m : n, sum = trans == CUBLAS_OP_N ? n : m;
  return submit({"cublasSgemv",
                 handle,
                 CUBLAS_OP_N,
                 other,
                 1,
                 rows,
                 sum,
                 alpha,
                 x,
                 CUDA_R_32F,
                 incx,
                 0,
                 a,
                 CUDA_R_32F,
                 lda,
                 0,
                 beta,
                 y,
                 CUDA_R_32F,
                 incy,
                 0,
                 1,
                 CUBLAS_COMPUTE_32F});
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  return submit({"cublasGemmEx", handle, transa, transb, m, n,      k,   alpha, a, a_type, lda, 0, b,
                 b_type,         ldb,    0,      beta,   c, c_type, ldc, 0,     1, compute});
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                          const void* a, cudaDataType a_type, int lda, long long stride_a,
                                          const void* b, cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch_count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  return submit({"cublasGemmStridedBatchedEx",
                 handle,
                 transa,
                 transb,
                 m,
                 n,
                 k,
                 alpha,
                 a,
                 a_type,
                 lda,
                 stride_a,
                 b,
                 b_type,
                 ldb,
                 stride_b,
                 beta,
                 c,
                 c_type,
                 ldc,
                 stride_c,
                 batch_count,
                 compute});
}
