// cuBLASLt's product: argument checks in the library's order.
#include <algorithm>
#include <array>
#include <cstring>

#include "cublas/matmul.h"
#include "error.h"

using namespace stitch_emulated;

struct cublasLtContext {};

namespace {

bool is_fp8(int type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

// The documented combinations of types, for the types that exist here.
bool types_are_supported(const LtDesc& desc, int a, int b, int c, int d) {
  switch (desc.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return desc.scale == CUDA_R_16F && a == CUDA_R_16F && b == a && c == a && d == a;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return desc.scale == CUDA_R_64F && a == CUDA_R_64F && b == a && c == a && d == a;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return a == CUDA_R_8I && b == a && c == d &&
             ((desc.scale == CUDA_R_32I && d == CUDA_R_32I) || (desc.scale == CUDA_R_32F && d == CUDA_R_8I));
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC: break;
    default: return false;
  }
  if (desc.scale != CUDA_R_32F) return false;
  if (is_fp8(a) && is_fp8(b)) {
    if (a == CUDA_R_8F_E5M2 && b == a) return false;
    const bool result = d == CUDA_R_32F ? c == d : c == CUDA_R_16BF || c == CUDA_R_16F;
    return result && (d == c || is_fp8(d));
  }
  if (a != b || c != d) return false;
  switch (a) {
    case CUDA_R_32F: return d == CUDA_R_32F;
    case CUDA_R_16F: return d == CUDA_R_16F || d == CUDA_R_32F;
    case CUDA_R_16BF: return d == CUDA_R_16BF || d == CUDA_R_32F;
    case CUDA_R_8I: return d == CUDA_R_32F;
    default: return false;
  }
}

bool epilogue_is_supported(const LtDesc& desc, int d) {
  constexpr uint32_t plain[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
                                CUBLASLT_EPILOGUE_BIAS,    CUBLASLT_EPILOGUE_RELU_BIAS,
                                CUBLASLT_EPILOGUE_GELU,    CUBLASLT_EPILOGUE_GELU_BIAS};
  if (std::find(std::begin(plain), std::end(plain), desc.epilogue) == std::end(plain)) return false;
  if (desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  return d != CUDA_R_32I;
}

// Types of a bias; the first is the default.
std::array<int, 2> bias_types(int a, int d) {
  if (is_fp8(d)) return {CUDA_R_16BF, CUDA_R_16F};
  if (is_fp8(a) && d == CUDA_R_32F) return {CUDA_R_16BF, CUDA_R_16BF};
  if (d == CUDA_R_8I) return {CUDA_R_32F, CUDA_R_32F};
  return {d, d};
}

bool layout_is_whole(const LtLayout& layout) {
  const uint64_t across = layout.order == CUBLASLT_ORDER_ROW ? layout.columns : layout.rows;
  return layout.ld > 0 && static_cast<uint64_t>(layout.ld) >= across && layout.batch_count > 0 &&
         layout.batch_offset >= 0;
}

Matrix matrix_of(const LtLayout& layout, bool transposed, const void* data) {
  Matrix out{};
  element_of(static_cast<cudaDataType>(layout.type), out.element);
  const bool by_row = layout.order == CUBLASLT_ORDER_ROW;
  out.rows = static_cast<int64_t>(layout.rows);
  out.columns = static_cast<int64_t>(layout.columns);
  out.row_step = by_row ? layout.ld : 1;
  out.column_step = by_row ? 1 : layout.ld;
  out.batch_step = layout.batch_offset;
  out.data = const_cast<void*>(data);
  if (transposed) {
    std::swap(out.rows, out.columns);
    std::swap(out.row_step, out.column_step);
  }
  return out;
}

// Everything but the addresses.
cublasStatus_t check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_handle, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc_handle || !a || !b || !c || !d) return CUBLAS_STATUS_INVALID_VALUE;
  const LtDesc& desc = *inside(desc_handle);
  const LtLayout *la = inside(a), *lb = inside(b), *lc = inside(c), *ld = inside(d);
  for (const LtLayout* layout : {la, lb, lc, ld}) {
    if (!layout_is_whole(*layout)) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    if (layout->batch_mode || layout->plane_offset) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Matrix ma = matrix_of(*la, desc.transa != CUBLAS_OP_N, nullptr),
               mb = matrix_of(*lb, desc.transb != CUBLAS_OP_N, nullptr);
  if (ma.columns != mb.rows || static_cast<uint64_t>(ma.rows) != ld->rows ||
      static_cast<uint64_t>(mb.columns) != ld->columns || lc->rows != ld->rows || lc->columns != ld->columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (la->batch_count != lb->batch_count || la->batch_count != lc->batch_count ||
      la->batch_count != ld->batch_count)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (desc.transc != CUBLAS_OP_N || desc.fill_mode != CUBLAS_FILL_MODE_FULL)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (desc.pointer_mode != CUBLASLT_POINTER_MODE_HOST && desc.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  // Operands of different types are an error, except among 8-bit floats.
  if (la->type != lb->type && !(is_fp8(la->type) && is_fp8(lb->type))) return CUBLAS_STATUS_INVALID_VALUE;
  if (!types_are_supported(desc, la->type, lb->type, lc->type, ld->type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!epilogue_is_supported(desc, ld->type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) {
    const std::array<int, 2> types = bias_types(la->type, ld->type);
    if (desc.bias_type >= 0 && desc.bias_type != types[0] && desc.bias_type != types[1])
      return CUBLAS_STATUS_INVALID_VALUE;
    if (ld->order == CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (desc.amax_d || desc.aux) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (is_fp8(la->type)) {
    // Hopper's fp8 tensor cores need both operands K-major, in multiples of 16 bytes.
    const bool k_first = la->order == CUBLASLT_ORDER_COL && lb->order == CUBLASLT_ORDER_COL &&
                         desc.transa == CUBLAS_OP_T && desc.transb == CUBLAS_OP_N;
    if (!k_first || ld->order != CUBLASLT_ORDER_COL || ma.columns % 16 || ma.rows % 16 || la->ld % 16 ||
        lb->ld % 16)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

Factor factor_of(const LtDesc& desc, const void* pointer) {
  Factor out;
  element_of(static_cast<cudaDataType>(desc.scale), out.element);
  if (desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE)
    out.device = pointer;
  else
    out.value = read_one(out.element, pointer);
  return out;
}

cublasLtMatmulHeuristicResult_t the_algorithm() {
  cublasLtMatmulHeuristicResult_t result{};
  result.algo.data[0] = algorithm_mark;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (sticky_error()) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return 13000; }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || !results || !returned || !preference) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (cublasStatus_t status = check(handle, desc, a, b, c, d)) return status;
  results[0] = the_algorithm();
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!algo || !result || algo->data[0] != algorithm_mark) return CUBLAS_STATUS_INVALID_VALUE;
  if (cublasStatus_t status = check(handle, desc, a, b, c, d)) return status;
  *result = the_algorithm();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_handle, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  if (cublasStatus_t status = check(handle, desc_handle, a_layout, b_layout, c_layout, d_layout))
    return status;
  const LtDesc& desc = *inside(desc_handle);
  if (!alpha || !beta || !a || !b || !d || (workspace_bytes && !workspace))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algo && algo->data[0] != algorithm_mark) return CUBLAS_STATUS_INVALID_VALUE;
  Matmul product;
  product.name = "cublasLtMatmul";
  product.a = matrix_of(*inside(a_layout), desc.transa != CUBLAS_OP_N, a);
  product.b = matrix_of(*inside(b_layout), desc.transb != CUBLAS_OP_N, b);
  product.c = matrix_of(*inside(c_layout), false, c);
  product.d = matrix_of(*inside(d_layout), false, d);
  product.batch = inside(d_layout)->batch_count;
  compute_of(static_cast<cublasComputeType_t>(desc.compute), product.sum, product.precision);
  product.alpha = factor_of(desc, alpha);
  product.beta = factor_of(desc, beta);
  if (!c && (product.beta.device || product.beta.value != 0)) return CUBLAS_STATUS_INVALID_VALUE;
  if (c == d && (product.c.row_step != product.d.row_step || product.c.column_step != product.d.column_step))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const Matrix* matrix : {&product.a, &product.b, &product.c, &product.d})
    if (reinterpret_cast<uintptr_t>(matrix->data) % bytes_of(matrix->element))
      return CUBLAS_STATUS_INVALID_VALUE;
  product.operand_scale[0].device = desc.a_scale;
  product.operand_scale[1].device = desc.b_scale;
  product.c_scale.device = desc.c_scale;
  product.d_scale.device = desc.d_scale;
  product.activation = desc.epilogue & CUBLASLT_EPILOGUE_RELU   ? Activation::relu
                       : desc.epilogue & CUBLASLT_EPILOGUE_GELU ? Activation::gelu
                                                                : Activation::none;
  if (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) {
    if (!desc.bias) return CUBLAS_STATUS_INVALID_VALUE;
    product.bias = desc.bias;
    product.bias_batch_step = desc.bias_batch_step;
    element_of(static_cast<cudaDataType>(desc.bias_type < 0
                                             ? bias_types(inside(a_layout)->type, inside(d_layout)->type)[0]
                                             : desc.bias_type),
               product.bias_element);
  }
  product.workspace = workspace;
  product.workspace_bytes = workspace_bytes;
  return submit_matmul(std::move(product), stream) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                                  : CUBLAS_STATUS_EXECUTION_FAILED;
}
