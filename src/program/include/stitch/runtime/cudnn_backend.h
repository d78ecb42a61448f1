// cuDNN's backend: descriptors, operation graphs of a convolution, and engines proposed by heuristics.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <vector>

#include "stitch/runtime/cudnn.h"

namespace stitch {
// A descriptor of cuDNN's backend.
class BackendDescriptor {
 public:
  BackendDescriptor() = default;
  BackendDescriptor(const BackendDescriptor&) = delete;
  BackendDescriptor& operator=(const BackendDescriptor&) = delete;
  BackendDescriptor(BackendDescriptor&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = nullptr;
  }
  BackendDescriptor& operator=(BackendDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~BackendDescriptor() {
    if (descriptor_) (void)cudnnBackendDestroyDescriptor(descriptor_);
  }

  StitchStatus create(cudnnBackendDescriptorType_t type) {
    STITCH_CUDNN(cudnnBackendCreateDescriptor(type, &descriptor_));
    return STITCH_OK;
  }
  StitchStatus set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                   const void* values) {
    STITCH_CUDNN(cudnnBackendSetAttribute(descriptor_, name, type, count, values));
    return STITCH_OK;
  }
  template <class T>
  StitchStatus set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    return set(name, type, 1, &value);
  }
  StitchStatus set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  StitchStatus set(cudnnBackendAttributeName_t name, const BackendDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.descriptor_);
  }
  StitchStatus finalize() {
    STITCH_CUDNN(cudnnBackendFinalize(descriptor_));
    return STITCH_OK;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

using BackendDims = std::vector<int64_t>;

// (outer, channels, inner...); inner: null for a single pixel.
inline BackendDims backend_dims(int outer, int channels, const int* inner, int dimensions) {
  BackendDims out = {outer, channels};
  for (int d = 0; d < dimensions; ++d) out.push_back(inner ? inner[d] : 1);
  return out;
}
// Strides of (samples, channels, spatial...), NHWC or NCHW.
inline BackendDims backend_strides(const BackendDims& dims, bool channels_last) {
  BackendDims out(dims.size());
  int64_t step = 1;
  auto next = [&](size_t d) {
    out[d] = step;
    step *= dims[d];
  };
  if (channels_last) next(1);
  for (size_t d = dims.size(); d-- > 2;) next(d);
  if (!channels_last) next(1);
  next(0);
  return out;
}

struct BackendTensor {
  int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  BackendDims dims;
  bool channels_last = false, is_virtual = false, by_value = false;
  int64_t alignment = 16;

  StitchStatus describe(BackendDescriptor& out) const {
    STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_STRIDES, backend_strides(dims, channels_last)));
    if (is_virtual) STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true));
    if (by_value) STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true));
    return out.finalize();
  }
};

// Padding, strides and dilations of y = conv(x, w).
inline StitchStatus describe_geometry(const ConvolutionSpec& spec, BackendDescriptor& out) {
  auto list = [&](const int* values) { return BackendDims(values, values + spec.dimensions); };
  STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  STITCH_OK_OR_RETURN(
      out.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{spec.dimensions}));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  STITCH_OK_OR_RETURN(
      out.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, list(spec.padding)));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, list(spec.padding)));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, list(spec.dilation)));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, list(spec.stride)));
  return out.finalize();
}
inline StitchStatus describe_forward(const BackendDescriptor& geometry, const BackendDescriptor& x,
                                     const BackendDescriptor& w, const BackendDescriptor& y,
                                     BackendDescriptor& out) {
  STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, geometry));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f));
  return out.finalize();
}
// dx of dy: a transposed convolution.
inline StitchStatus describe_backward(const BackendDescriptor& geometry, const BackendDescriptor& dy,
                                      const BackendDescriptor& w, const BackendDescriptor& dx,
                                      BackendDescriptor& out) {
  STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, geometry));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1.0f));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 0.0f));
  return out.finalize();
}
inline StitchStatus describe_operations(cudnnHandle_t handle,
                                        const std::vector<BackendDescriptor>& operations,
                                        BackendDescriptor& out) {
  std::vector<cudnnBackendDescriptor_t> all;
  for (const BackendDescriptor& each : operations) all.push_back(each.get());
  STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
  STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              static_cast<int64_t>(all.size()), all.data()));
  return out.finalize();
}

// Everything that an engine for a convolution alone depends on.
inline std::string engine_key(const ConvolutionSpec& spec) {
  std::string out;
  auto add = [&](int number) { out += std::to_string(number) + ' '; };
  for (int each : {spec.dimensions, spec.batch, spec.channels_in, spec.channels_out, spec.groups,
                   static_cast<int>(spec.type), static_cast<int>(spec.math), int{spec.transposed},
                   spec.algorithm.index, static_cast<int>(spec.algorithm.insists)})
    add(each);
  for (const int* list : {spec.size_in, spec.size_out, spec.kernel, spec.stride, spec.padding, spec.dilation})
    for (int d = 0; d < spec.dimensions; ++d) add(list[d]);
  return out;
}

// The engines proposed by cuDNN's heuristics, in the order of these modes, best first.
inline StitchStatus propose_engines(const BackendDescriptor& graph,
                                    std::initializer_list<cudnnBackendHeurMode_t> modes, size_t most,
                                    std::vector<BackendDescriptor>& out) {
  for (cudnnBackendHeurMode_t mode : modes) {
    BackendDescriptor heuristic;
    STITCH_OK_OR_RETURN(heuristic.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    STITCH_OK_OR_RETURN(heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
    STITCH_OK_OR_RETURN(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
    if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) continue;
    std::vector<BackendDescriptor> found(most);
    std::vector<cudnnBackendDescriptor_t> raw(most);
    for (size_t i = 0; i < most; ++i) {
      STITCH_OK_OR_RETURN(found[i].create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw[i] = found[i].get();
    }
    int64_t count = 0;
    if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(most), &count,
                                 raw.data()) != CUDNN_STATUS_SUCCESS)
      continue;
    for (size_t i = 0; i < std::min(static_cast<size_t>(count), most); ++i)
      out.push_back(std::move(found[i]));
  }
  return STITCH_OK;
}

// Properties of a proposed engine.
class EngineFacts {
 public:
  explicit EngineFacts(const BackendDescriptor& configuration) {
    if (engine_.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR) != STITCH_OK) return;
    raw_ = engine_.get();
    int64_t count = 0;
    if (cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw_) != CUDNN_STATUS_SUCCESS)
      raw_ = nullptr;
  }
  bool notes(cudnnBackendNumericalNote_t note) const {
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> all;
    int64_t count = 0;
    if (!raw_ ||
        cudnnBackendGetAttribute(raw_, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, all.data()) != CUDNN_STATUS_SUCCESS)
      return false;
    const auto end = all.begin() + std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    return std::find(all.begin(), end, note) != end;
  }
  // cuDNN's index of it; -1 if unknown.
  int64_t index() const {
    int64_t out = -1, count = 0;
    if (!raw_ || cudnnBackendGetAttribute(raw_, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                                          &out) != CUDNN_STATUS_SUCCESS)
      return -1;
    return out;
  }

 private:
  BackendDescriptor engine_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

// A usable engine and its workspace size.
struct BuiltEngine {
  BackendDescriptor plan;
  int64_t workspace_bytes = 0;

  StitchStatus build(cudnnHandle_t handle, const BackendDescriptor& configuration, int64_t most_workspace) {
    BackendDescriptor made;
    STITCH_OK_OR_RETURN(made.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    STITCH_OK_OR_RETURN(made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle));
    STITCH_OK_OR_RETURN(made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
    STITCH_OK_OR_RETURN(made.finalize());
    int64_t bytes = 0, count = 0;
    STITCH_CUDNN(cudnnBackendGetAttribute(made.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &count, &bytes));
    if (bytes > most_workspace)
      return fail(STITCH_UNSUPPORTED, "cuDNN: an engine with too large a workspace");
    workspace_bytes = bytes;
    plan = std::move(made);
    return STITCH_OK;
  }
  StitchStatus run(const Cudnn& library, int64_t count, const int64_t* ids, const void* const* pointers,
                   cudaStream_t stream) const {
    STITCH_CUDNN(cudnnSetStream(library.handle(), stream));
    BackendDescriptor pack;
    STITCH_OK_OR_RETURN(pack.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    STITCH_OK_OR_RETURN(
        pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers));
    STITCH_OK_OR_RETURN(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids));
    STITCH_OK_OR_RETURN(
        pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, library.workspace.data()));
    STITCH_OK_OR_RETURN(pack.finalize());
    STITCH_CUDNN(cudnnBackendExecute(library.handle(), plan.get(), pack.get()));
    return STITCH_OK;
  }
};

}  // namespace stitch
