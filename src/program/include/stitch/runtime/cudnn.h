// Convolutions by cuDNN's descriptor API, of 1 to 3 dimensions (one is made two).
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>

#include "stitch/runtime/arena.h"

namespace stitch {
inline StitchStatus check_cudnn(cudnnStatus_t status, const char* call, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return STITCH_OK;
  return fail(STITCH_DEVICE_ERROR, "%s:%d: %s: %s", base_name(file), line, call, cudnnGetErrorString(status));
}
#define STITCH_CUDNN(call) STITCH_OK_OR_RETURN(::stitch::check_cudnn((call), #call, __FILE__, __LINE__))

class Cudnn {
 public:
  Cudnn() = default;
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn() {
    if (handle_) (void)cudnnDestroy(handle_);
  }
  StitchStatus create() {
    STITCH_CUDNN(cudnnCreate(&handle_));
    return STITCH_OK;
  }
  cudnnHandle_t handle() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

struct ConvolutionSpec {
  int dimensions;  // 2 or 3
  int batch, channels_in, channels_out, groups = 1;
  int size_in[3], size_out[3], kernel[3], stride[3], padding[3], dilation[3];
  cudnnTensorFormat_t layout = CUDNN_TENSOR_NCHW;  // of input, filter and output
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_FMA_MATH;  // CUDNN_DEFAULT_MATH: TF32 where the class allows it
  int algorithm = 0;                      // which of the heuristic's proposals, best first
};

// y = conv(x, w), without bias. Pointers are aligned to 16 bytes: arena memory, not the caller's.
class Convolution {
 public:
  Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  ~Convolution() {
    if (input_) (void)cudnnDestroyTensorDescriptor(input_);
    if (output_) (void)cudnnDestroyTensorDescriptor(output_);
    if (filter_) (void)cudnnDestroyFilterDescriptor(filter_);
    if (operation_) (void)cudnnDestroyConvolutionDescriptor(operation_);
  }

  StitchStatus create(const Cudnn& library, const ConvolutionSpec& spec) {
    library_ = &library;
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&input_));
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&output_));
    STITCH_CUDNN(cudnnCreateFilterDescriptor(&filter_));
    STITCH_CUDNN(cudnnCreateConvolutionDescriptor(&operation_));

    int rank = spec.dimensions + 2;
    auto sizes = [&](int outer, int channels, const int* inner) {
      std::array<int, 5> all = {outer, channels, 1, 1, 1};
      for (int i = 0; i < spec.dimensions; ++i) all[static_cast<size_t>(i) + 2] = inner[i];
      return all;
    };
    auto input = sizes(spec.batch, spec.channels_in, spec.size_in);
    auto output = sizes(spec.batch, spec.channels_out, spec.size_out);
    auto filter = sizes(spec.channels_out, spec.channels_in / spec.groups, spec.kernel);
    STITCH_CUDNN(cudnnSetTensorNdDescriptorEx(input_, spec.layout, spec.type, rank, input.data()));
    STITCH_CUDNN(cudnnSetTensorNdDescriptorEx(output_, spec.layout, spec.type, rank, output.data()));
    STITCH_CUDNN(cudnnSetFilterNdDescriptor(filter_, spec.type, spec.layout, rank, filter.data()));
    STITCH_CUDNN(cudnnSetConvolutionNdDescriptor(operation_, spec.dimensions, spec.padding, spec.stride,
                                                 spec.dilation, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    STITCH_CUDNN(cudnnSetConvolutionGroupCount(operation_, spec.groups));
    STITCH_CUDNN(cudnnSetConvolutionMathType(operation_, spec.math));
    return choose(spec);
  }

  size_t workspace_bytes() const { return workspace_bytes_; }

  StitchStatus enqueue(const void* x, const void* w, void* y, void* workspace, cudaStream_t stream) const {
    const float one = 1.0f, zero = 0.0f;
    STITCH_CUDNN(cudnnSetStream(library_->handle(), stream));
    STITCH_CUDNN(cudnnConvolutionForward(library_->handle(), &one, input_, x, filter_, w, operation_,
                                         algorithm_, workspace, workspace_bytes_, &zero, output_, y));
    return STITCH_OK;
  }

 private:
  static constexpr int most_proposals = 8;

  StitchStatus choose(const ConvolutionSpec& spec) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, most_proposals> proposals;
    int found = 0, usable = 0;
    STITCH_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(library_->handle(), input_, filter_, operation_,
                                                        output_, most_proposals, &found, proposals.data()));
    for (int i = 0; i < found; ++i) {
      const auto& proposal = proposals[static_cast<size_t>(i)];
      // A proposal may come with more freedom than the class has.
      if (proposal.status != CUDNN_STATUS_SUCCESS || proposal.mathType != spec.math) continue;
      if (usable++ != spec.algorithm) continue;
      algorithm_ = proposal.algo;
      STITCH_CUDNN(cudnnGetConvolutionForwardWorkspaceSize(library_->handle(), input_, filter_, operation_,
                                                           output_, algorithm_, &workspace_bytes_));
      return STITCH_OK;
    }
    return fail(STITCH_UNSUPPORTED, "cuDNN: convolution algorithm %d of %d", spec.algorithm, usable);
  }

  const Cudnn* library_ = nullptr;
  cudnnTensorDescriptor_t input_ = nullptr, output_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t operation_ = nullptr;
  cudnnConvolutionFwdAlgo_t algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  size_t workspace_bytes_ = 0;
};

}  // namespace stitch
