// Convolutions by cuDNN's descriptor API, of 1 to 3 dimensions (one is treated as two).
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "stitch/runtime/arena.h"
#include "stitch/runtime/settings.h"

namespace stitch {
inline StitchStatus check_cudnn(cudnnStatus_t status, const char* call, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return STITCH_OK;
  return fail(STITCH_DEVICE_ERROR, "%s:%d: %s: %s", base_name(file), line, call, cudnnGetErrorString(status));
}
#define STITCH_CUDNN(call) STITCH_OK_OR_RETURN(::stitch::check_cudnn((call), #call, __FILE__, __LINE__))

// One handle and one workspace per program. Convolutions that may run concurrently need one each.
class Cudnn {
 public:
  Cudnn() = default;
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;
  ~Cudnn() {
    for (cudnnHandle_t builder : builders_) (void)cudnnDestroy(builder);
    if (handle_) (void)cudnnDestroy(handle_);
  }
  StitchStatus create() {
    STITCH_CUDNN(cudnnCreate(&handle_));
    return STITCH_OK;
  }
  cudnnHandle_t handle() const { return handle_; }

  // Engines that cuDNN compiles take half a second each and more: they are built in parallel once all are
  // known. `build` is called with a handle of its thread, then `finish`, one after the other.
  struct Pending {
    std::function<void(cudnnHandle_t)> build;
    std::function<StitchStatus()> finish;
  };
  void add(Pending pending) { pending_.push_back(std::move(pending)); }
  // The first convolution with the same key, whose engine is shared.
  const void* first_of(const std::string& key, const void* asks) {
    return engines_.try_emplace(key, asks).first->second;
  }
  // Those of a pass share engines with each other alone: it may be forgotten before other passes.
  void begin_pass() { engines_.clear(); }
  StitchStatus settle() {
    int device = 0;
    STITCH_CUDA(cudaGetDevice(&device));
    const size_t most = std::max<size_t>(1, std::min<size_t>(std::thread::hardware_concurrency(), 16));
    while (builders_.size() < std::min(most, pending_.size())) {
      cudnnHandle_t builder = nullptr;
      STITCH_CUDNN(cudnnCreate(&builder));
      builders_.push_back(builder);  // kept as long as its engines are used
    }
    std::atomic<size_t> next = 0;
    auto work = [&](cudnnHandle_t builder) {
      if (cudaSetDevice(device) != cudaSuccess) return;
      for (size_t i; (i = next++) < pending_.size();) pending_[i].build(builder);
    };
    std::vector<std::thread> threads;
    for (size_t i = 0; i < std::min(builders_.size(), pending_.size()); ++i)
      threads.emplace_back(work, builders_[i]);
    for (std::thread& thread : threads) thread.join();
    for (Pending& pending : pending_) STITCH_OK_OR_RETURN(pending.finish());
    pending_.clear();
    return STITCH_OK;
  }

  Workspace workspace;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::vector<cudnnHandle_t> builders_;
  std::vector<Pending> pending_;
  std::map<std::string, const void*> engines_;
};

struct ConvolutionSpec {
  int dimensions;  // 2 or 3
  int batch, channels_in, channels_out, groups = 1;
  int size_in[3], size_out[3], kernel[3], stride[3], padding[3], dilation[3];
  bool transposed = false;  // the weight is (channels_in, channels_out / groups, kernel...)
  cudnnTensorFormat_t layout = CUDNN_TENSOR_NCHW;  // of input, filter and output
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_FMA_MATH;  // CUDNN_DEFAULT_MATH: TF32 if the numerics class allows it
  const void* bias = nullptr;             // (channels_out)
  bool relu = false;
  Proposal algorithm = {};
  bool search = false;  // proposals are timed, not guessed
};

// y = relu(conv(x, w) + bias + z), or the transposed convolution. z: none, or an image like y, only together
// with a bias. Pointers are aligned to 16 bytes.
class Convolution {
 public:
  Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  ~Convolution() {
    for (cudnnTensorDescriptor_t tensor : {input_, output_, bias_shape_})
      if (tensor) (void)cudnnDestroyTensorDescriptor(tensor);
    if (filter_) (void)cudnnDestroyFilterDescriptor(filter_);
    if (operation_) (void)cudnnDestroyConvolutionDescriptor(operation_);
    if (activation_) (void)cudnnDestroyActivationDescriptor(activation_);
  }

  StitchStatus create(Cudnn& library, const ConvolutionSpec& spec) {
    library_ = &library;
    transposed_ = spec.transposed;
    relu_ = spec.relu;
    bias_ = spec.bias;
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&input_));
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&output_));
    STITCH_CUDNN(cudnnCreateTensorDescriptor(&bias_shape_));
    STITCH_CUDNN(cudnnCreateFilterDescriptor(&filter_));
    STITCH_CUDNN(cudnnCreateConvolutionDescriptor(&operation_));
    STITCH_CUDNN(cudnnCreateActivationDescriptor(&activation_));

    int rank = spec.dimensions + 2;
    const int ones[3] = {1, 1, 1};
    auto sizes = [&](int outer, int channels, const int* inner) {
      std::array<int, 5> all = {outer, channels, 1, 1, 1};
      for (int i = 0; i < spec.dimensions; ++i) all[static_cast<size_t>(i) + 2] = inner[i];
      return all;
    };
    auto input = sizes(spec.batch, spec.channels_in, spec.size_in);
    auto output = sizes(spec.batch, spec.channels_out, spec.size_out);
    auto bias = sizes(1, spec.channels_out, ones);
    auto filter = spec.transposed ? sizes(spec.channels_in, spec.channels_out / spec.groups, spec.kernel)
                                  : sizes(spec.channels_out, spec.channels_in / spec.groups, spec.kernel);
    STITCH_CUDNN(cudnnSetTensorNdDescriptorEx(input_, spec.layout, spec.type, rank, input.data()));
    STITCH_CUDNN(cudnnSetTensorNdDescriptorEx(output_, spec.layout, spec.type, rank, output.data()));
    STITCH_CUDNN(cudnnSetTensorNdDescriptorEx(bias_shape_, spec.layout, spec.type, rank, bias.data()));
    STITCH_CUDNN(cudnnSetFilterNdDescriptor(filter_, spec.type, spec.layout, rank, filter.data()));
    STITCH_CUDNN(cudnnSetConvolutionNdDescriptor(operation_, spec.dimensions, spec.padding, spec.stride,
                                                 spec.dilation, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    STITCH_CUDNN(cudnnSetConvolutionGroupCount(operation_, spec.groups));
    // In cuDNN's default arithmetic fp16 doesn't use tensor cores.
    STITCH_CUDNN(cudnnSetConvolutionMathType(
        operation_, spec.type == CUDNN_DATA_FLOAT ? spec.math : CUDNN_TENSOR_OP_MATH));
    STITCH_CUDNN(cudnnSetActivationDescriptor(activation_,
                                              spec.relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                              CUDNN_PROPAGATE_NAN, 0.0));
    return spec.transposed ? choose_transposed(spec) : choose_forward(spec);
  }

  StitchStatus enqueue(const void* x, const void* w, void* y, cudaStream_t stream,
                       const void* z = nullptr) const {
    const float one = 1.0f, zero = 0.0f;
    cudnnHandle_t handle = library_->handle();
    STITCH_CUDNN(cudnnSetStream(handle, stream));
    if (transposed_) {
      STITCH_CUDNN(cudnnConvolutionBackwardData(handle, &one, filter_, w, input_, x, operation_,
                                                transposed_algorithm_, library_->workspace.data(),
                                                workspace_bytes_, &zero, output_, y));
    } else {
      if (bias_) {
        cudnnStatus_t status = cudnnConvolutionBiasActivationForward(
            handle, &one, input_, x, filter_, w, operation_, algorithm_, library_->workspace.data(),
            workspace_bytes_, z ? &one : &zero, output_, z ? z : y, bias_shape_, bias_, activation_, output_,
            y);
        if (status == CUDNN_STATUS_SUCCESS) return STITCH_OK;
        // Not every algorithm has a fused form: then bias and ReLU come after it.
        if (status != CUDNN_STATUS_NOT_SUPPORTED)
          return check_cudnn(status, "cudnnConvolutionBiasActivationForward", __FILE__, __LINE__);
      }
      STITCH_CUDNN(cudnnConvolutionForward(handle, &one, input_, x, filter_, w, operation_, algorithm_,
                                           library_->workspace.data(), workspace_bytes_, &zero, output_, y));
    }
    if (bias_) STITCH_CUDNN(cudnnAddTensor(handle, &one, bias_shape_, bias_, &one, output_, y));
    if (z) STITCH_CUDNN(cudnnAddTensor(handle, &one, output_, z, &one, output_, y));
    if (relu_) STITCH_CUDNN(cudnnActivationForward(handle, activation_, &one, output_, y, &zero, output_, y));
    return STITCH_OK;
  }

 private:
  static constexpr int most_proposals = 8;
  static constexpr size_t most_workspace = size_t{1} << 30;

  // The proposal that the spec asks for, in the class's arithmetic and with a reasonable workspace. Those
  // with tensor cores come first: cuDNN's own order often starts with an FFT or FP32 arithmetic that takes
  // ten times as long (H200, cuDNN 9.19).
  template <class Perf>
  StitchStatus pick(const ConvolutionSpec& spec, const std::array<Perf, most_proposals>& proposals, int found,
                    const Perf** picked) {
    std::array<const Perf*, most_proposals> usable;
    int count = 0;
    for (bool tensor_cores : {true, false})
      for (int i = 0; i < found; ++i) {
        const Perf& proposal = proposals[static_cast<size_t>(i)];
        if (proposal.status != CUDNN_STATUS_SUCCESS || proposal.memory > most_workspace) continue;
        if (proposal.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) continue;
        if (spec.math == CUDNN_FMA_MATH && proposal.mathType != CUDNN_FMA_MATH) continue;
        if (tensor_cores != (spec.search || on_tensor_cores(spec, proposal))) continue;
        // Prefer deterministic algorithms.
        if (count > 0 && proposal.determinism != CUDNN_DETERMINISTIC) continue;
        usable[static_cast<size_t>(count++)] = &proposal;
      }
    if (spec.algorithm.refused(count))
      return fail(STITCH_UNSUPPORTED, "cuDNN: convolution algorithm %d of %d", spec.algorithm.index, count);
    *picked = usable[static_cast<size_t>(spec.algorithm.among(count))];
    STITCH_CUDNN(cudnnSetConvolutionMathType(operation_, (*picked)->mathType));
    return STITCH_OK;
  }

  static bool on_tensor_cores(const ConvolutionSpec& spec, const cudnnConvolutionFwdAlgoPerf_t& proposal) {
    return of_tensor_cores(spec, proposal.mathType) &&
           proposal.algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  }
  static bool on_tensor_cores(const ConvolutionSpec& spec,
                              const cudnnConvolutionBwdDataAlgoPerf_t& proposal) {
    return of_tensor_cores(spec, proposal.mathType) && proposal.algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
  }
  // TF32 is cuDNN's default arithmetic for FP32; fp16 must be requested. Grouped transposed convolutions are
  // slow there: 3 to 10 times as slow as cuDNN's first proposal (H200).
  static bool of_tensor_cores(const ConvolutionSpec& spec, cudnnMathType_t math) {
    if (spec.math == CUDNN_FMA_MATH || (spec.transposed && spec.groups > 1)) return false;
    return math == (spec.type == CUDNN_DATA_FLOAT ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH);
  }

  StitchStatus choose_forward(const ConvolutionSpec& spec) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, most_proposals> proposals;
    int found = 0;
    auto propose =
        spec.search ? cudnnFindConvolutionForwardAlgorithm : cudnnGetConvolutionForwardAlgorithm_v7;
    STITCH_CUDNN(propose(library_->handle(), input_, filter_, operation_, output_, most_proposals, &found,
                         proposals.data()));
    const cudnnConvolutionFwdAlgoPerf_t* picked = nullptr;
    STITCH_OK_OR_RETURN(pick(spec, proposals, found, &picked));
    algorithm_ = picked->algo;
    STITCH_CUDNN(cudnnGetConvolutionForwardWorkspaceSize(library_->handle(), input_, filter_, operation_,
                                                         output_, algorithm_, &workspace_bytes_));
    return library_->workspace.reserve(workspace_bytes_);
  }

  StitchStatus choose_transposed(const ConvolutionSpec& spec) {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, most_proposals> proposals;
    int found = 0;
    auto propose =
        spec.search ? cudnnFindConvolutionBackwardDataAlgorithm : cudnnGetConvolutionBackwardDataAlgorithm_v7;
    STITCH_CUDNN(propose(library_->handle(), filter_, input_, operation_, output_, most_proposals, &found,
                         proposals.data()));
    const cudnnConvolutionBwdDataAlgoPerf_t* picked = nullptr;
    STITCH_OK_OR_RETURN(pick(spec, proposals, found, &picked));
    transposed_algorithm_ = picked->algo;
    STITCH_CUDNN(cudnnGetConvolutionBackwardDataWorkspaceSize(
        library_->handle(), filter_, input_, operation_, output_, transposed_algorithm_, &workspace_bytes_));
    return library_->workspace.reserve(workspace_bytes_);
  }

  Cudnn* library_ = nullptr;
  cudnnTensorDescriptor_t input_ = nullptr, output_ = nullptr, bias_shape_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t operation_ = nullptr;
  cudnnActivationDescriptor_t activation_ = nullptr;
  cudnnConvolutionFwdAlgo_t algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  cudnnConvolutionBwdDataAlgo_t transposed_algorithm_ = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0;
  size_t workspace_bytes_ = 0;
  const void* bias_ = nullptr;
  bool transposed_ = false, relu_ = false;
};

}  // namespace stitch
