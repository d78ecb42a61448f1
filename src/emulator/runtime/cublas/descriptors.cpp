#include "cublas/matmul.h"

#include <cstddef>
#include <cstring>

using namespace stitch_emulated;

namespace {

// An attribute maps to a member of the descriptor's struct.
struct Attribute {
  int id;
  size_t offset, bytes;
};
#define STITCH_ATTRIBUTE(id, type, member) \
  { id, offsetof(type, member), sizeof(type::member) }
constexpr Attribute layout_attributes[] = {
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, LtLayout, type),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, LtLayout, order),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, LtLayout, rows),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, LtLayout, columns),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, LtLayout, ld),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, LtLayout, batch_count),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, LtLayout, batch_offset),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, LtLayout, plane_offset),
    STITCH_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, LtLayout, batch_mode),
};
constexpr Attribute desc_attributes[] = {
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, LtDesc, compute),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, LtDesc, scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, LtDesc, pointer_mode),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, LtDesc, transa),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, LtDesc, transb),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, LtDesc, transc),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, LtDesc, fill_mode),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, LtDesc, epilogue),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, LtDesc, bias),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, LtDesc, bias_batch_step),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, LtDesc, aux),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, LtDesc, aux_ld),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, LtDesc, aux_batch_step),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, LtDesc, alpha_batch_step),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, LtDesc, sm_count),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, LtDesc, a_scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, LtDesc, b_scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, LtDesc, c_scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, LtDesc, d_scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, LtDesc, amax_d),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, LtDesc, aux_type),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, LtDesc, aux_scale),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, LtDesc, aux_amax),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, LtDesc, fast_accumulation),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, LtDesc, bias_type),
};
constexpr Attribute preference_attributes[] = {
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, LtPreference, search_mode),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, LtPreference, workspace_bytes),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, LtPreference, reduction_mask),
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, offsetof(LtPreference, alignment), 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, offsetof(LtPreference, alignment) + 4, 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, offsetof(LtPreference, alignment) + 8, 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, offsetof(LtPreference, alignment) + 12, 4},
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, LtPreference, waves),
    STITCH_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, LtPreference, implementations),
};
#undef STITCH_ATTRIBUTE

template <size_t N>
const Attribute* find(const Attribute (&all)[N], int id) {
  for (const Attribute& attribute : all)
    if (attribute.id == id) return &attribute;
  return nullptr;
}
cublasStatus_t set(void* in, const Attribute* attribute, const void* value, size_t bytes) {
  if (!in || !attribute || !value || bytes != attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<char*>(in) + attribute->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
// Without a buffer, only the size is returned.
cublasStatus_t get(const void* from, const Attribute* attribute, void* value, size_t bytes, size_t* written) {
  if (!from || !attribute || (!bytes && !written) || (bytes && !value)) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes && bytes < attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = attribute->bytes;
  if (bytes) std::memcpy(value, static_cast<const char*>(from) + attribute->offset, attribute->bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t destroy(T* descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows,
                                        uint64_t columns, int64_t ld) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = {};
  LtLayout& in = *inside(layout);
  in.type = type;
  in.rows = rows;
  in.columns = columns;
  in.ld = ld;
  in.batch_count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t;
  return cublasLtMatrixLayoutInit(*layout, type, rows, columns, ld);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  return set(layout, find(layout_attributes, attribute), value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                size_t bytes, size_t* written) {
  return get(layout, find(layout_attributes, attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = {};
  LtDesc& in = *inside(desc);
  in.compute = compute;
  in.scale = scale;
  in.fill_mode = CUBLAS_FILL_MODE_FULL;
  in.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  in.bias_type = in.aux_type = -1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new cublasLtMatmulDescOpaque_t;
  return cublasLtMatmulDescInit(*desc, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  return set(desc, find(desc_attributes, attribute), value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              size_t bytes, size_t* written) {
  return get(desc, find(desc_attributes, attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = {};
  LtPreference& in = *inside(preference);
  in.reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  for (uint32_t& alignment : in.alignment) alignment = 256;
  in.implementations = ~uint64_t{0};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return cublasLtMatmulPreferenceInit(*preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return set(preference, find(preference_attributes, attribute), value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  return get(preference, find(preference_attributes, attribute), value, bytes, written);
}

// One algorithm without tunables: reads give zeros, writes are accepted.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t, void* value,
                                                    size_t bytes, size_t* written) {
  if (!algo || algo->data[0] != algorithm_mark) return CUBLAS_STATUS_INVALID_VALUE;
  if (value) std::memset(value, 0, bytes);
  if (written) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t, const void* value,
                                                    size_t) {
  return algo && algo->data[0] == algorithm_mark && value ? CUBLAS_STATUS_SUCCESS
                                                          : CUBLAS_STATUS_INVALID_VALUE;
}
