// The contents of cuBLASLt's opaque descriptors.
#pragma once

#include <cstdint>

#include "cublasLt.h"

namespace stitch_emulated {

struct LtLayout {
  int32_t type, order;
  uint64_t rows, columns;
  int64_t ld, batch_offset, plane_offset;
  int32_t batch_count;
  uint32_t batch_mode;
};
struct LtDesc {
  int32_t compute, scale, pointer_mode, transa, transb, transc, fill_mode;
  uint32_t epilogue;
  const void *bias, *aux, *a_scale, *b_scale, *c_scale, *d_scale, *amax_d, *aux_scale, *aux_amax;
  int64_t bias_batch_step, aux_ld, aux_batch_step, alpha_batch_step;
  int32_t sm_count, aux_type, bias_type;
  int8_t fast_accumulation;
};
struct LtPreference {
  uint32_t search_mode, reduction_mask;
  uint64_t workspace_bytes;
  uint32_t alignment[4];
  float waves;
  uint64_t implementations;
};
static_assert(sizeof(LtLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(LtDesc) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(LtPreference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

inline LtLayout* inside(cublasLtMatrixLayout_t layout) { return reinterpret_cast<LtLayout*>(layout); }
inline LtDesc* inside(cublasLtMatmulDesc_t desc) { return reinterpret_cast<LtDesc*>(desc); }
inline LtPreference* inside(cublasLtMatmulPreference_t preference) {
  return reinterpret_cast<LtPreference*>(preference);
}

// The first word of every algorithm returned by a heuristic.
constexpr uint64_t algorithm_mark = 0x535449544348ull;

}  // namespace stitch_emulated
