// A recurrence by cuDNN: all steps, layers and directions in one call. Weights are copied into its layout
// once.
#pragma once

#include <vector>

#include "stitch/runtime/arena.h"
#include "stitch/runtime/cudnn.h"

namespace stitch {
struct RecurrenceSpec {
  cudnnRNNMode_t kind;
  int steps, batch, input, hidden, layers, directions;
  bool batch_first = false, biases = true;
  cudnnMathType_t math = CUDNN_FMA_MATH;  // CUDNN_DEFAULT_MATH: TF32 if the numerics class allows it
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
};

class CudnnRecurrence {
 public:
  CudnnRecurrence() = default;
  CudnnRecurrence(const CudnnRecurrence&) = delete;
  CudnnRecurrence& operator=(const CudnnRecurrence&) = delete;
  ~CudnnRecurrence() {
    if (x_) (void)cudnnDestroyRNNDataDescriptor(x_);
    if (y_) (void)cudnnDestroyRNNDataDescriptor(y_);
    if (state_) (void)cudnnDestroyTensorDescriptor(state_);
    if (operation_) (void)cudnnDestroyRNNDescriptor(operation_);
    if (dropout_) (void)cudnnDestroyDropoutDescriptor(dropout_);
  }

  // `weights` by layer, then direction: input, hidden, and the two biases if there are any.
  StitchStatus create(Cudnn& library, const RecurrenceSpec& spec, const float* const* weights) {
    library_ = &library;
    STITCH_CUDNN(cudnnCreateDropoutDescriptor(&dropout_));
    STITCH_CUDNN(cudnnSetDropoutDescriptor(dropout_, library.handle(), 0.0f, nullptr, 0, 0));
    STITCH_CUDNN(cudnnCreateRNNDescriptor(&operation_));
    STITCH_CUDNN(cudnnSetRNNDescriptor_v8(
        operation_, spec.algorithm, spec.kind, spec.biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
        spec.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
        CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, spec.math, spec.input, spec.hidden, spec.hidden, spec.layers,
        dropout_, spec.batch_first ? CUDNN_RNN_PADDED_IO_ENABLED : CUDNN_RNN_PADDED_IO_DISABLED));

    // All sequences have one length, so packed and unpacked are the same memory; packed has more algorithms.
    std::vector<int> lengths(static_cast<size_t>(spec.batch), spec.steps);
    float fill = 0.0f;
    auto layout = spec.batch_first ? CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED
                                   : CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
    STITCH_CUDNN(cudnnCreateRNNDataDescriptor(&x_));
    STITCH_CUDNN(cudnnCreateRNNDataDescriptor(&y_));
    STITCH_CUDNN(cudnnSetRNNDataDescriptor(x_, CUDNN_DATA_FLOAT, layout, spec.steps, spec.batch, spec.input,
                                           lengths.data(), &fill));
    STITCH_CUDNN(cudnnSetRNNDataDescriptor(y_, CUDNN_DATA_FLOAT, layout, spec.steps, spec.batch,
                                           spec.hidden * spec.directions, lengths.data(), &fill));
    const int shape[3] = {spec.layers * spec.directions, spec.batch, spec.hidden};
    const int strides[3] = {spec.batch * spec.hidden, spec.hidden, 1};
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&state_));
    STITCH_CUDNN(cudnnSetTensorNdDescriptor(state_, CUDNN_DATA_FLOAT, 3, shape, strides));

    size_t reserve_bytes = 0;
    STITCH_CUDNN(cudnnGetRNNTempSpaceSizes(library.handle(), operation_, CUDNN_FWD_MODE_INFERENCE, x_,
                                           &workspace_bytes_, &reserve_bytes));
    STITCH_OK_OR_RETURN(library.workspace.reserve(workspace_bytes_));
    STITCH_CUDNN(cudnnGetRNNWeightSpaceSize(library.handle(), operation_, &weight_bytes_));
    size_t lengths_at = arena_size(weight_bytes_);
    STITCH_OK_OR_RETURN(memory_.allocate(lengths_at + lengths.size() * sizeof(int)));
    STITCH_OK_OR_RETURN(memory_.place("cuDNN's weights", 0, weight_bytes_, &weights_));
    STITCH_OK_OR_RETURN(memory_.place("lengths", lengths_at, lengths.size(), &lengths_));
    STITCH_CUDA(cudaMemcpy(lengths_, lengths.data(), lengths.size() * sizeof(int), cudaMemcpyHostToDevice));
    STITCH_CUDA(cudaMemset(weights_, 0, weight_bytes_));
    return copy_weights(spec, weights);
  }

  StitchStatus enqueue(const float* x, const float* h0, const float* c0, float* y, float* hn, float* cn,
                       cudaStream_t stream) const {
    STITCH_CUDNN(cudnnSetStream(library_->handle(), stream));
    STITCH_CUDNN(cudnnRNNForward(library_->handle(), operation_, CUDNN_FWD_MODE_INFERENCE, lengths_, x_, x,
                                 y_, y, state_, h0, hn, state_, c0, cn, weight_bytes_, weights_,
                                 workspace_bytes_, library_->workspace.data(), 0, nullptr));
    return STITCH_OK;
  }

 private:
  StitchStatus copy_weights(const RecurrenceSpec& spec, const float* const* weights) {
    const int gates = spec.kind == CUDNN_LSTM ? 4 : spec.kind == CUDNN_GRU ? 3 : 1;
    cudnnTensorDescriptor_t matrix = nullptr, bias = nullptr;
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&matrix));
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&bias));
    StitchStatus status = STITCH_OK;
    for (int slot = 0; slot < spec.layers * spec.directions && status == STITCH_OK; ++slot) {
      const int64_t features = slot < spec.directions ? spec.input : int64_t{spec.hidden} * spec.directions;
      const float* const* own = weights + slot * (spec.biases ? 4 : 2);
      // cuDNN counts the input's gates first, then the state's; both in PyTorch's order.
      for (int i = 0; i < 2 * gates && status == STITCH_OK; ++i)
        status = copy_gate(slot, i, own[i / gates], spec.biases ? own[2 + i / gates] : nullptr, i % gates,
                           i < gates ? features : spec.hidden, spec.hidden, matrix, bias);
    }
    (void)cudnnDestroyTensorDescriptor(matrix);
    (void)cudnnDestroyTensorDescriptor(bias);
    return status;
  }

  StitchStatus copy_gate(int slot, int which, const float* weight, const float* bias, int gate, int64_t wide,
                         int64_t hidden, cudnnTensorDescriptor_t matrix_shape,
                         cudnnTensorDescriptor_t bias_shape) {
    void *matrix_at = nullptr, *bias_at = nullptr;
    STITCH_CUDNN(cudnnGetRNNWeightParams(library_->handle(), operation_, slot, weight_bytes_, weights_, which,
                                         matrix_shape, &matrix_at, bias_shape, &bias_at));
    STITCH_CUDA(cudaMemcpyAsync(matrix_at, weight + gate * hidden * wide,
                                static_cast<size_t>(hidden * wide) * sizeof(float), cudaMemcpyDeviceToDevice,
                                nullptr));
    if (bias)
      STITCH_CUDA(cudaMemcpyAsync(bias_at, bias + gate * hidden, static_cast<size_t>(hidden) * sizeof(float),
                                  cudaMemcpyDeviceToDevice, nullptr));
    return STITCH_OK;
  }

  Cudnn* library_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnRNNDescriptor_t operation_ = nullptr;
  cudnnRNNDataDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnTensorDescriptor_t state_ = nullptr;
  Arena memory_;
  char* weights_ = nullptr;
  int* lengths_ = nullptr;
  size_t weight_bytes_ = 0, workspace_bytes_ = 0;
};

}  // namespace stitch
