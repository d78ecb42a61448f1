// Matrix products by cuBLASLt in row-major terms: D (rows, columns) = left (rows, depth) · right (depth,
// columns), batched. cuBLASLt is column-major, so it computes the transposed product with left and right
// exchanged; nothing is moved.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <utility>

#include "stitch/runtime/arena.h"
#include "stitch/runtime/settings.h"
#include "stitch/runtime/tensors.h"

namespace stitch {
inline StitchStatus check_cublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return STITCH_OK;
  StitchStatus kind = status == CUBLAS_STATUS_ALLOC_FAILED    ? STITCH_OUT_OF_MEMORY
                      : status == CUBLAS_STATUS_ARCH_MISMATCH ? STITCH_UNSUPPORTED
                                                              : STITCH_DEVICE_ERROR;
  return fail(kind, "%s:%d: %s: %s", base_name(file), line, call, cublasLtGetStatusString(status));
}
#define STITCH_CUBLAS(call) STITCH_OK_OR_RETURN(::stitch::check_cublas((call), #call, __FILE__, __LINE__))

// One handle and one workspace per program. Products that may run concurrently need one each.
class CublasLt {
 public:
  // NVIDIA's recommendation for Hopper: with less, split-K algorithms aren't proposed.
  static constexpr size_t most_workspace = size_t{32} << 20;

  CublasLt() = default;
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt() {
    if (handle_) (void)cublasLtDestroy(handle_);
  }
  StitchStatus create() {
    STITCH_CUBLAS(cublasLtCreate(&handle_));
    return STITCH_OK;
  }
  cublasLtHandle_t handle() const { return handle_; }

  Workspace workspace;

 private:
  cublasLtHandle_t handle_ = nullptr;
};

struct MatmulSpec {
  int64_t rows, columns, depth;
  int64_t batch = 1;
  bool left_transposed = false;   // stored as (depth, rows)
  bool right_transposed = false;  // stored as (columns, depth), like nn.Linear's weight
  int64_t left_batch_stride = -1, right_batch_stride = -1;  // -1: dense; 0: broadcast
  int64_t result_batch_stride = -1;
  // Stride between stored rows, in elements; -1: dense.
  int64_t left_row_stride = -1, right_row_stride = -1, result_row_stride = -1;
  cudaDataType type = CUDA_R_32F;                           // of left and right
  int result_type = -1;                                     // of D and the bias; -1: as left and right
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;         // 32I: for int8, without scale and epilogue
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;  // its GELU is the tanh form
  const void* bias = nullptr;                               // (columns): for the epilogues that add one
  bool accumulate = false;                                  // onto the old D, or onto a matrix like it
  float scale = 1.0f;                                       // of left · right
  // Two floats on the device used as alpha and beta instead of scale and 0 or 1, for scales known only at run
  // time.
  const float* factors = nullptr;
  Proposal algorithm = {};  // among the heuristic's, for 16-byte aligned pointers
};

class Matmul {
 public:
  Matmul() = default;
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul() {
    for (cublasLtMatrixLayout_t layout : {left_, right_, result_})
      if (layout) (void)cublasLtMatrixLayoutDestroy(layout);
    if (operation_) (void)cublasLtMatmulDescDestroy(operation_);
  }

  // Algorithms are chosen here, so that a run only enqueues.
  StitchStatus create(CublasLt& library, const MatmulSpec& spec) {
    library_ = &library;
    factors_ = spec.factors;
    scale_ = spec.scale;
    accumulate_ = spec.accumulate;
    integers_ = spec.compute == CUBLAS_COMPUTE_32I;
    STITCH_CUBLAS(cublasLtMatmulDescCreate(&operation_, spec.compute, integers_ ? CUDA_R_32I : CUDA_R_32F));
    cublasOperation_t first = spec.right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t second = spec.left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    STITCH_OK_OR_RETURN(set(CUBLASLT_MATMUL_DESC_TRANSA, first));
    STITCH_OK_OR_RETURN(set(CUBLASLT_MATMUL_DESC_TRANSB, second));
    STITCH_OK_OR_RETURN(set(CUBLASLT_MATMUL_DESC_EPILOGUE, spec.epilogue));
    if (spec.bias) STITCH_OK_OR_RETURN(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, spec.bias));
    if (spec.factors)
      STITCH_OK_OR_RETURN(set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE));

    auto stored = [&](cublasLtMatrixLayout_t* layout, cudaDataType type, int64_t high, int64_t wide,
                      bool transposed, int64_t row_stride, int64_t batch_stride) {
      if (transposed) std::swap(high, wide);
      if (row_stride < 0) row_stride = wide;
      if (batch_stride < 0) batch_stride = high * row_stride;
      return describe_matrix(layout, type, high, wide, row_stride, spec.batch, batch_stride);
    };
    cudaDataType result_type = spec.result_type < 0 ? spec.type : static_cast<cudaDataType>(spec.result_type);
    STITCH_OK_OR_RETURN(stored(&left_, spec.type, spec.rows, spec.depth, spec.left_transposed,
                               spec.left_row_stride, spec.left_batch_stride));
    STITCH_OK_OR_RETURN(stored(&right_, spec.type, spec.depth, spec.columns, spec.right_transposed,
                               spec.right_row_stride, spec.right_batch_stride));
    STITCH_OK_OR_RETURN(stored(&result_, result_type, spec.rows, spec.columns, false, spec.result_row_stride,
                               spec.result_batch_stride));
    STITCH_OK_OR_RETURN(choose(spec, 16, spec.algorithm, CublasLt::most_workspace, &aligned_));
    unaligned_ = aligned_;
    if (integers_) return STITCH_OK;  // only with a program's own, aligned memory
    // Only for a caller's pointers: no workspace beyond what others need.
    return choose(spec, spec.type == CUDA_R_32F ? 4 : 2, {}, library.workspace.bytes(), &unaligned_);
  }

  // `added`: the addend if spec.accumulate; nullptr: the old result.
  StitchStatus enqueue(const void* left, const void* right, void* result, cudaStream_t stream,
                       const void* added = nullptr) const {
    if (!added) added = result;
    const float one = 1.0f, zero = 0.0f;
    const int whole = 1, nothing = 0;
    const void* alpha = factors_ ? factors_ : &scale_;
    const void* beta = factors_ ? factors_ + 1 : accumulate_ ? &one : &zero;
    if (integers_) alpha = &whole, beta = &nothing;
    bool aligned =
        is_aligned(left, 16) && is_aligned(right, 16) && is_aligned(result, 16) && is_aligned(added, 16);
    STITCH_CUBLAS(cublasLtMatmul(library_->handle(), operation_, alpha, right, right_, left, left_, beta,
                                 added, result_, result, result_, aligned ? &aligned_ : &unaligned_,
                                 library_->workspace.data(), library_->workspace.bytes(), stream));
    return STITCH_OK;
  }

 private:
  static constexpr int most_proposals = 16;

  template <class T>
  StitchStatus set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    STITCH_CUBLAS(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
    return STITCH_OK;
  }

  static StitchStatus describe_matrix(cublasLtMatrixLayout_t* layout, cudaDataType type, int64_t high,
                                      int64_t wide, int64_t row_stride, int64_t batches,
                                      int64_t batch_stride) {
    STITCH_CUBLAS(cublasLtMatrixLayoutCreate(layout, type, static_cast<uint64_t>(wide),
                                             static_cast<uint64_t>(high), row_stride));
    if (batches == 1) return STITCH_OK;
    int32_t batch = static_cast<int32_t>(batches);
    STITCH_CUBLAS(
        cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    STITCH_CUBLAS(cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                   &batch_stride, sizeof batch_stride));
    return STITCH_OK;
  }

  StitchStatus choose(const MatmulSpec& spec, uint32_t alignment, Proposal proposal, size_t most_workspace,
                      cublasLtMatmulAlgo_t* algorithm) {
    cublasLtMatmulPreference_t preference = nullptr;
    STITCH_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
    StitchStatus status = propose(spec, alignment, proposal, most_workspace, preference, algorithm);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    return status;
  }

  StitchStatus propose(const MatmulSpec& spec, uint32_t alignment, Proposal proposal, size_t most_workspace,
                       cublasLtMatmulPreference_t preference, cublasLtMatmulAlgo_t* algorithm) {
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) -> StitchStatus {
      STITCH_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
      return STITCH_OK;
    };
    STITCH_OK_OR_RETURN(
        prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(most_workspace)));
    for (auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      STITCH_OK_OR_RETURN(prefer(attribute, alignment));
    // Partial sums are added in the compute type and in a fixed order: deterministic.
    STITCH_OK_OR_RETURN(prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                               static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));

    std::array<cublasLtMatmulHeuristicResult_t, most_proposals> proposals;
    int found = 0;
    STITCH_CUBLAS(cublasLtMatmulAlgoGetHeuristic(library_->handle(), operation_, right_, left_, result_,
                                                 result_, preference, most_proposals, proposals.data(),
                                                 &found));
    if (proposal.refused(found))
      return fail(STITCH_UNSUPPORTED, "cuBLASLt: algorithm %d of %d for %lld x %lld x %lld", proposal.index,
                  found, static_cast<long long>(spec.rows), static_cast<long long>(spec.columns),
                  static_cast<long long>(spec.depth));
    const cublasLtMatmulHeuristicResult_t& chosen = proposals[static_cast<size_t>(proposal.among(found))];
    *algorithm = chosen.algo;
    return library_->workspace.reserve(chosen.workspaceSize);
  }

  CublasLt* library_ = nullptr;
  const float* factors_ = nullptr;
  float scale_ = 1.0f;
  bool accumulate_ = false;
  bool integers_ = false;  // int8 with int32 sums
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t aligned_{}, unaligned_{};  // for 16-byte aligned pointers, and for any
};

}  // namespace stitch
