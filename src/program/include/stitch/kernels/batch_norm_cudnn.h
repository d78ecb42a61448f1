// A batch norm in training by the cuDNN call that PyTorch makes for NCHW images, so that both round alike.
#pragma once

#include <array>

#include "stitch/runtime/arena.h"
#include "stitch/runtime/cudnn.h"

namespace stitch {
struct BatchNormSpec {
  int dimensions;            // 4 or 5
  std::array<int, 5> sizes;  // batch, channels, then spatial
  double momentum, epsilon;
};

class CudnnBatchNorm {
 public:
  CudnnBatchNorm() = default;
  CudnnBatchNorm(const CudnnBatchNorm&) = delete;
  CudnnBatchNorm& operator=(const CudnnBatchNorm&) = delete;
  ~CudnnBatchNorm() {
    if (image_) (void)cudnnDestroyTensorDescriptor(image_);
    if (channels_) (void)cudnnDestroyTensorDescriptor(channels_);
  }

  StitchStatus create(Cudnn& library, const BatchNormSpec& spec) {
    library_ = &library;
    spec_ = spec;
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&image_));
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&channels_));
    std::array<int, 5> strides{};
    int stride = 1;
    for (int d = spec.dimensions; d-- > 0; stride *= spec.sizes[static_cast<size_t>(d)])
      strides[static_cast<size_t>(d)] = stride;
    STITCH_CUDNN(cudnnSetTensorNdDescriptor(image_, CUDNN_DATA_FLOAT, spec.dimensions, spec.sizes.data(),
                                            strides.data()));
    STITCH_CUDNN(cudnnDeriveBNTensorDescriptor(channels_, image_, mode));
    STITCH_CUDNN(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        library.handle(), mode, CUDNN_BATCHNORM_OPS_BN, image_, nullptr, image_, channels_, nullptr,
        &workspace_bytes_));
    STITCH_CUDNN(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
        library.handle(), mode, CUDNN_BATCHNORM_OPS_BN, nullptr, image_, &reserve_bytes_));
    STITCH_OK_OR_RETURN(library.workspace.reserve(workspace_bytes_));
    const size_t row = arena_size(bytes());
    STITCH_OK_OR_RETURN(memory_.allocate(4 * row + reserve_bytes_));
    const char* const names[] = {"the new mean", "the new variance", "the mean", "the deviation's inverse"};
    for (size_t i = 0; i < 4; ++i)
      STITCH_OK_OR_RETURN(memory_.place(names[i], i * row, static_cast<size_t>(spec.sizes[1]), &rows_[i]));
    STITCH_OK_OR_RETURN(memory_.place("cuDNN's notes for gradients", 4 * row, reserve_bytes_, &reserve_));
    return STITCH_OK;
  }

  // Null: the new statistics aren't needed.
  StitchStatus enqueue(const float* x, const float* scale, const float* bias, const float* running_mean,
                       const float* running_variance, float* y, float* new_mean, float* new_variance,
                       cudaStream_t stream) const {
    const float one = 1.0f, zero = 0.0f;
    STITCH_CUDA(cudaMemcpyAsync(rows_[0], running_mean, bytes(), cudaMemcpyDeviceToDevice, stream));
    STITCH_CUDA(cudaMemcpyAsync(rows_[1], running_variance, bytes(), cudaMemcpyDeviceToDevice, stream));
    STITCH_CUDNN(cudnnSetStream(library_->handle(), stream));
    STITCH_CUDNN(cudnnBatchNormalizationForwardTrainingEx(
        library_->handle(), mode, CUDNN_BATCHNORM_OPS_BN, &one, &zero, image_, x, nullptr, nullptr, image_, y,
        channels_, scale, bias, spec_.momentum, rows_[0], rows_[1], spec_.epsilon, rows_[2], rows_[3],
        nullptr, library_->workspace.data(), workspace_bytes_, reserve_bytes_ ? reserve_ : nullptr,
        reserve_bytes_));
    if (new_mean) STITCH_CUDA(cudaMemcpyAsync(new_mean, rows_[0], bytes(), cudaMemcpyDeviceToDevice, stream));
    if (new_variance)
      STITCH_CUDA(cudaMemcpyAsync(new_variance, rows_[1], bytes(), cudaMemcpyDeviceToDevice, stream));
    return STITCH_OK;
  }

 private:
  static constexpr cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL;  // PyTorch's choice for NCHW

  size_t bytes() const { return static_cast<size_t>(spec_.sizes[1]) * sizeof(float); }

  Cudnn* library_ = nullptr;
  BatchNormSpec spec_{};
  cudnnTensorDescriptor_t image_ = nullptr, channels_ = nullptr;
  Arena memory_;
  std::array<float*, 4> rows_{};
  char* reserve_ = nullptr;
  size_t workspace_bytes_ = 0, reserve_bytes_ = 0;
};
}  // namespace stitch
