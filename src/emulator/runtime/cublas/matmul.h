// One product with epilogue, for cuBLAS and cuBLASLt.
#pragma once

#include <cstdint>
#include <string>

#include "cublasLt.h"
#include "cublas_api.h"
#include "library/numbers.h"
#include "operation.h"

namespace stitch_emulated {

struct Matrix {
  Element element;
  int64_t rows, columns;
  int64_t row_step, column_step, batch_step;  // in elements
  void* data;
};

// A host constant, or read from device memory when the product runs.
struct Factor {
  double value = 1;
  const void* device = nullptr;
  Element element = Element::f32;
  double get() const { return device ? read_one(element, device) : value; }
};

enum class Activation : uint8_t { none, relu, gelu };

// d = activation(alpha * a b + beta * c + bias), with a (m, k) and b (k, n) after transposition.
struct Matmul {
  std::string name;
  Matrix a, b, c, d;
  int64_t batch = 1;
  Element sum = Element::f32;  // accumulator: f32, f64 or i32
  Precision precision = Precision::full;
  Factor alpha, beta;
  Factor operand_scale[2], c_scale, d_scale;  // of fp8 matrices
  Activation activation = Activation::none;
  const void* bias = nullptr;  // (m), one per row
  Element bias_element = Element::f32;
  int64_t bias_batch_step = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// The sizes must match.
cudaError_t submit_matmul(Matmul product, cudaStream_t stream);

// False for element types that the libraries lack.
bool element_of(cudaDataType type, Element& out);
// Accumulator and operand precision of a compute type; false if unknown.
bool compute_of(cublasComputeType_t compute, Element& sum, Precision& precision);

// The contents of cuBLASLt's opaque descriptors.
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
