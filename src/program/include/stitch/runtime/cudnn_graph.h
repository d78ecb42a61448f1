// A convolution and the pointwise operations behind it as one operation graph of cuDNN's, channels last: sums
// and what follows them in FP32, one kernel, the result rounded once. Where cuDNN has no engine for the
// graph, `fused()` is false, and the convolution alone is what it computes: whoever calls it does the rest.
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

// What a step of the epilogue reads besides the step before it, channels last: one number a channel, one a
// channel of each sample, or one an element.
struct FusedOperand {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool per_sample = false, per_pixel = false;
};
// One pointwise operation: mode(first) or mode(first, second).
struct FusedStep {
  enum Second : uint8_t { nothing, step, operand, constant };
  cudnnPointwiseMode_t mode;
  int first = -1;  // a step's result; -1: the convolution's
  Second kind = nothing;
  int second = 0;        // which step or operand
  float number = 0;      // the constant
  double upper = 1e300;  // where a ReLU ends
};

// y = epilogue(conv(x, w)), all channels last. Pointers are aligned to 16 bytes.
class FusedConvolution {
 public:
  static constexpr int most_steps = 16, most_operands = 8;

  FusedConvolution() = default;
  FusedConvolution(const FusedConvolution&) = delete;
  FusedConvolution& operator=(const FusedConvolution&) = delete;

  StitchStatus create(Cudnn& library, const ConvolutionSpec& spec, std::vector<FusedStep> steps,
                      std::vector<FusedOperand> operands) {
    library_ = &library;
    steps_ = std::move(steps);
    operand_count_ = operands.size();
    if (steps_.size() > most_steps || operand_count_ > most_operands)
      return fail(STITCH_UNSUPPORTED, "cuDNN: an epilogue of %d steps", static_cast<int>(steps_.size()));
    library.add(
        {[this, spec, operands](cudnnHandle_t handle) { status_ = plan_graph(handle, spec, operands); },
         [this, spec] { return finish(spec); }});
    return STITCH_OK;
  }

  bool fused() const { return fused_; }

  // operands: as many as were told, in that order.
  StitchStatus enqueue(const void* x, const void* w, void* y, std::initializer_list<const void*> operands,
                       cudaStream_t stream) const {
    if (!fused_) return convolution_.enqueue(x, w, y, stream);
    std::array<const void*, 3 + most_operands + most_steps> pointers;
    std::array<int64_t, 3 + most_operands + most_steps> ids;
    int64_t count = 0;
    auto add = [&](int64_t id, const void* pointer) {
      ids[static_cast<size_t>(count)] = id;
      pointers[static_cast<size_t>(count++)] = pointer;
    };
    add(id_x, x);
    add(id_w, w);
    add(id_y, y);
    int64_t next = id_operand;
    for (const void* each : operands) add(next++, each);
    for (size_t s = 0; s < steps_.size(); ++s)
      if (steps_[s].kind == FusedStep::constant)
        add(id_constant + static_cast<int64_t>(s), &steps_[s].number);
    STITCH_CUDNN(cudnnSetStream(library_->handle(), stream));
    BackendDescriptor pack;
    STITCH_OK_OR_RETURN(pack.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    STITCH_OK_OR_RETURN(
        pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data()));
    STITCH_OK_OR_RETURN(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data()));
    STITCH_OK_OR_RETURN(
        pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, library_->workspace.data()));
    STITCH_OK_OR_RETURN(pack.finalize());
    STITCH_CUDNN(cudnnBackendExecute(library_->handle(), plan_.get(), pack.get()));
    return STITCH_OK;
  }

 private:
  static constexpr int64_t id_x = 1, id_w = 2, id_y = 3, id_operand = 10, id_constant = 30, id_between = 60;
  static constexpr int most_proposals = 12;
  static constexpr int64_t most_workspace = int64_t{1} << 30;

  using Dims = std::vector<int64_t>;
  // (samples, channels, spatial...), the channels of a pixel behind each other.
  static StitchStatus tensor(BackendDescriptor& out, int64_t id, cudnnDataType_t type, const Dims& dims,
                             bool is_virtual, bool by_value = false) {
    Dims strides(dims.size());
    int64_t step = dims[1];
    strides[1] = 1;
    for (size_t d = dims.size(); d-- > 2;) {
      strides[d] = step;
      step *= dims[d];
    }
    strides[0] = step;
    STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16}));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_STRIDES, strides));
    if (is_virtual) STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true));
    if (by_value) STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true));
    return out.finalize();
  }

  static Dims dims_of(int outer, int channels, const int* inner, int dimensions) {
    Dims out = {outer, channels};
    for (int d = 0; d < dimensions; ++d) out.push_back(inner ? inner[d] : 1);
    return out;
  }

  StitchStatus convolve(const ConvolutionSpec& spec, const BackendDescriptor& x, const BackendDescriptor& w,
                        const BackendDescriptor& y, BackendDescriptor& out) {
    auto list = [&](const int* values) { return Dims(values, values + spec.dimensions); };
    STITCH_OK_OR_RETURN(geometry_.create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
    STITCH_OK_OR_RETURN(
        geometry_.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{spec.dimensions}));
    STITCH_OK_OR_RETURN(
        geometry_.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    STITCH_OK_OR_RETURN(geometry_.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                      CUDNN_CROSS_CORRELATION));
    STITCH_OK_OR_RETURN(geometry_.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, list(spec.padding)));
    STITCH_OK_OR_RETURN(geometry_.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, list(spec.padding)));
    STITCH_OK_OR_RETURN(geometry_.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, list(spec.dilation)));
    STITCH_OK_OR_RETURN(geometry_.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, list(spec.stride)));
    STITCH_OK_OR_RETURN(geometry_.finalize());
    STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, geometry_));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f));
    return out.finalize();
  }

  static StitchStatus pointwise(const FusedStep& step, const BackendDescriptor& first,
                                const BackendDescriptor* second, const BackendDescriptor& y,
                                BackendDescriptor& kind, BackendDescriptor& out) {
    STITCH_OK_OR_RETURN(kind.create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    STITCH_OK_OR_RETURN(kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, step.mode));
    STITCH_OK_OR_RETURN(kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    if (step.mode == CUDNN_POINTWISE_RELU_FWD) {
      constexpr auto attribute = static_cast<cudnnBackendAttributeName_t>(2);  // deprecated names
      constexpr auto type = static_cast<cudnnBackendAttributeType_t>(10);
      STITCH_OK_OR_RETURN(kind.set(attribute, type, CUDNN_PROPAGATE_NAN));
      if (step.upper < 1e300) {
        STITCH_OK_OR_RETURN(kind.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, 0.0));
        STITCH_OK_OR_RETURN(kind.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, step.upper));
      }
    }
    STITCH_OK_OR_RETURN(kind.finalize());
    STITCH_OK_OR_RETURN(out.create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, first));
    if (second) STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *second));
    STITCH_OK_OR_RETURN(out.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y));
    return out.finalize();
  }

  // What the graph lacks, the convolution alone has.
  StitchStatus finish(const ConvolutionSpec& spec) {
    fused_ = status_ == STITCH_OK;
    if (fused_) return library_->workspace.reserve(static_cast<size_t>(workspace_bytes_));
    if (spec.algorithm.insists && spec.algorithm.index > 0)
      return fail(STITCH_UNSUPPORTED, "cuDNN: engine %d doesn't take this graph", spec.algorithm.index);
    plan_ = BackendDescriptor();
    kept_.clear();
    ConvolutionSpec alone = spec;
    alone.algorithm = {};
    return convolution_.create(*library_, alone);
  }

  StitchStatus plan_graph(cudnnHandle_t handle, const ConvolutionSpec& spec,
                          const std::vector<FusedOperand>& operands) {
    const int n = spec.dimensions;
    const Dims whole = dims_of(spec.batch, spec.channels_out, spec.size_out, n);
    const size_t steps = steps_.size();
    BackendDescriptor x, w;
    STITCH_OK_OR_RETURN(
        tensor(x, id_x, spec.type, dims_of(spec.batch, spec.channels_in, spec.size_in, n), false));
    STITCH_OK_OR_RETURN(tensor(w, id_w, spec.type,
                               dims_of(spec.channels_out, spec.channels_in / spec.groups, spec.kernel, n),
                               false));
    // The convolution's result, then each step's; the last one is y.
    std::vector<BackendDescriptor> results(steps + 1), given(operands.size()), constants(steps), kinds(steps),
        operations(steps + 1);
    for (size_t s = 0; s <= steps; ++s)
      STITCH_OK_OR_RETURN(tensor(results[s], s == steps ? id_y : id_between + static_cast<int64_t>(s),
                                 s == steps ? spec.type : CUDNN_DATA_FLOAT, whole, s != steps));
    for (size_t i = 0; i < operands.size(); ++i)
      STITCH_OK_OR_RETURN(tensor(given[i], id_operand + static_cast<int64_t>(i), operands[i].type,
                                 dims_of(operands[i].per_sample ? spec.batch : 1, spec.channels_out,
                                         operands[i].per_pixel ? spec.size_out : nullptr, n),
                                 false));
    STITCH_OK_OR_RETURN(convolve(spec, x, w, results[0], operations[0]));
    for (size_t s = 0; s < steps; ++s) {
      const FusedStep& step = steps_[s];
      const BackendDescriptor* second = nullptr;
      if (step.kind == FusedStep::step) second = &results[static_cast<size_t>(step.second + 1)];
      if (step.kind == FusedStep::operand) second = &given[static_cast<size_t>(step.second)];
      if (step.kind == FusedStep::constant) {
        STITCH_OK_OR_RETURN(tensor(constants[s], id_constant + static_cast<int64_t>(s), CUDNN_DATA_FLOAT,
                                   Dims(static_cast<size_t>(n) + 2, 1), false, true));
        second = &constants[s];
      }
      STITCH_OK_OR_RETURN(pointwise(step, results[static_cast<size_t>(step.first + 1)], second,
                                    results[s + 1], kinds[s], operations[s + 1]));
    }
    std::vector<cudnnBackendDescriptor_t> all;
    for (const BackendDescriptor& each : operations) all.push_back(each.get());
    BackendDescriptor graph;
    STITCH_OK_OR_RETURN(graph.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    STITCH_OK_OR_RETURN(graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
    STITCH_OK_OR_RETURN(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  static_cast<int64_t>(all.size()), all.data()));
    STITCH_OK_OR_RETURN(graph.finalize());
    STITCH_OK_OR_RETURN(choose(handle, spec, graph));
    // Nobody says what a plan still reads of what it was made from.
    for (std::vector<BackendDescriptor>* list : {&results, &given, &constants, &kinds, &operations})
      for (BackendDescriptor& each : *list) kept_.push_back(std::move(each));
    for (BackendDescriptor* each : {&x, &w, &graph}) kept_.push_back(std::move(*each));
    return STITCH_OK;
  }

  // The engines that cuDNN's heuristics propose, best first, then those that are there for whatever the
  // others don't take.
  StitchStatus propose(const BackendDescriptor& graph, std::vector<BackendDescriptor>& out) const {
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      BackendDescriptor heuristic;
      STITCH_OK_OR_RETURN(heuristic.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
      STITCH_OK_OR_RETURN(heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
      STITCH_OK_OR_RETURN(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
      if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) continue;
      std::vector<BackendDescriptor> found(most_proposals);
      std::array<cudnnBackendDescriptor_t, most_proposals> raw;
      for (size_t i = 0; i < found.size(); ++i) {
        STITCH_OK_OR_RETURN(found[i].create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
        raw[i] = found[i].get();
      }
      int64_t count = 0;
      if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, most_proposals, &count,
                                   raw.data()) != CUDNN_STATUS_SUCCESS)
        continue;
      for (int64_t i = 0; i < std::min<int64_t>(count, most_proposals); ++i)
        out.push_back(std::move(found[static_cast<size_t>(i)]));
    }
    return STITCH_OK;
  }

  // Nobody who has a choice gives up equal outputs for equal inputs.
  static bool repeats(const BackendDescriptor& configuration) {
    BackendDescriptor engine;
    if (engine.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR) != STITCH_OK) return true;
    cudnnBackendDescriptor_t raw = engine.get();
    int64_t count = 0;
    if (cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw) != CUDNN_STATUS_SUCCESS)
      return true;
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
    if (cudnnBackendGetAttribute(raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                                 notes.data()) != CUDNN_STATUS_SUCCESS)
      return true;
    const auto end = notes.begin() + std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    return std::find(notes.begin(), end, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == end;
  }

  StitchStatus choose(cudnnHandle_t handle, const ConvolutionSpec& spec, const BackendDescriptor& graph) {
    std::vector<BackendDescriptor> proposals;
    STITCH_OK_OR_RETURN(propose(graph, proposals));
    proposals.erase(std::remove_if(proposals.begin(), proposals.end(),
                                   [](const BackendDescriptor& each) { return !repeats(each); }),
                    proposals.end());
    const int count = static_cast<int>(proposals.size());
    if (spec.algorithm.refused(count))
      return fail(STITCH_UNSUPPORTED, "cuDNN: engine %d of %d", spec.algorithm.index, count);
    // What was told, or the first from there on that can be built.
    const bool insists = spec.algorithm.insists && spec.algorithm.index > 0;
    for (int i = spec.algorithm.among(count); i < count; ++i) {
      const StitchStatus status = build(handle, proposals[static_cast<size_t>(i)]);
      if (status == STITCH_OK || insists) return status;
    }
    return fail(STITCH_UNSUPPORTED, "cuDNN: none of %d engines takes the graph", count);
  }

  StitchStatus build(cudnnHandle_t handle, const BackendDescriptor& configuration) {
    BackendDescriptor plan;
    STITCH_OK_OR_RETURN(plan.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    STITCH_OK_OR_RETURN(plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle));
    STITCH_OK_OR_RETURN(plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
    STITCH_OK_OR_RETURN(plan.finalize());
    int64_t bytes = 0, count = 0;
    STITCH_CUDNN(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &count, &bytes));
    if (bytes > most_workspace)
      return fail(STITCH_UNSUPPORTED, "cuDNN: an engine with too large a workspace");
    workspace_bytes_ = bytes;
    plan_ = std::move(plan);
    return STITCH_OK;
  }

  Cudnn* library_ = nullptr;
  std::vector<FusedStep> steps_;
  size_t operand_count_ = 0;
  StitchStatus status_ = STITCH_UNSUPPORTED;  // of the graph
  int64_t workspace_bytes_ = 0;
  bool fused_ = false;
  BackendDescriptor geometry_, plan_;
  std::vector<BackendDescriptor> kept_;
  Convolution convolution_;
};

}  // namespace stitch
