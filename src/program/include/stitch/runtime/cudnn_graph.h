// A convolution and its pointwise epilogue as one cuDNN operation graph, NHWC: sums and epilogue in FP32, one
// kernel, the result rounded once. If cuDNN has no engine for the graph, `fused()` is false, only the
// convolution is computed, and the caller applies the epilogue.
#pragma once

#include "stitch/runtime/cudnn_backend.h"

namespace stitch {
// An additional operand of an epilogue step, NHWC: one number per channel, per channel and sample, or per
// element.
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
  double upper = 1e300;  // upper bound of a ReLU
};

// y = epilogue(conv(x, w)), all NHWC. Pointers are aligned to 16 bytes.
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
    first_ = static_cast<const FusedConvolution*>(library.first_of(key_of(spec, operands), this));
    if (first_ != this) return STITCH_OK;
    library.add(
        {[this, spec, operands](cudnnHandle_t handle) { status_ = plan_graph(handle, spec, operands); },
         [this, spec] { return finish(spec); }});
    return STITCH_OK;
  }

  bool fused() const { return first_->fused_; }

  // operands: as described at create, in that order.
  StitchStatus enqueue(const void* x, const void* w, void* y, std::initializer_list<const void*> operands,
                       cudaStream_t stream) const {
    if (!fused()) return first_->convolution_.enqueue(x, w, y, stream);
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
    return first_->engine_.run(*library_, count, ids.data(), pointers.data(), stream);
  }

 private:
  static constexpr int64_t id_x = 1, id_w = 2, id_y = 3, id_operand = 10, id_constant = 30, id_between = 60;
  static constexpr size_t most_proposals = 12;
  static constexpr int64_t most_workspace = int64_t{1} << 30;

  // (samples, channels, spatial...) in NHWC.
  static StitchStatus tensor(BackendDescriptor& out, int64_t id, cudnnDataType_t type, BackendDims dims,
                             bool is_virtual, bool by_value = false) {
    BackendTensor described{id, type, std::move(dims), true, is_virtual, by_value};
    return described.describe(out);
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

  // Everything that an engine depends on.
  std::string key_of(const ConvolutionSpec& spec, const std::vector<FusedOperand>& operands) const {
    std::string out = engine_key(spec);
    auto add = [&](double number) { out += std::to_string(number) + ' '; };
    for (const FusedStep& step : steps_) {
      for (int each : {static_cast<int>(step.mode), step.first, static_cast<int>(step.kind), step.second})
        add(each);
      add(static_cast<double>(step.upper < 1e300 ? step.upper : -1));
    }
    for (const FusedOperand& operand : operands)
      for (int each : {static_cast<int>(operand.type), int{operand.per_sample}, int{operand.per_pixel}})
        add(each);
    return out;
  }

  // Without an engine for the graph, creates the convolution alone.
  StitchStatus finish(const ConvolutionSpec& spec) {
    fused_ = status_ == STITCH_OK;
    if (fused_) return library_->workspace.reserve(static_cast<size_t>(engine_.workspace_bytes));
    if (spec.algorithm.insists && spec.algorithm.index > 0)
      return fail(STITCH_UNSUPPORTED, "cuDNN: engine %d doesn't take this graph", spec.algorithm.index);
    engine_ = {};
    kept_.clear();
    ConvolutionSpec alone = spec;
    alone.algorithm = {};
    return convolution_.create(*library_, alone);
  }

  StitchStatus plan_graph(cudnnHandle_t handle, const ConvolutionSpec& spec,
                          const std::vector<FusedOperand>& operands) {
    const int n = spec.dimensions;
    const BackendDims whole = backend_dims(spec.batch, spec.channels_out, spec.size_out, n);
    const size_t steps = steps_.size();
    BackendDescriptor x, w;
    STITCH_OK_OR_RETURN(
        tensor(x, id_x, spec.type, backend_dims(spec.batch, spec.channels_in, spec.size_in, n), false));
    STITCH_OK_OR_RETURN(
        tensor(w, id_w, spec.type,
               backend_dims(spec.channels_out, spec.channels_in / spec.groups, spec.kernel, n), false));
    // The convolution's result, then each step's; the last one is y.
    std::vector<BackendDescriptor> results(steps + 1), given(operands.size()), constants(steps), kinds(steps),
        operations(steps + 1);
    for (size_t s = 0; s <= steps; ++s)
      STITCH_OK_OR_RETURN(tensor(results[s], s == steps ? id_y : id_between + static_cast<int64_t>(s),
                                 s == steps ? spec.type : CUDNN_DATA_FLOAT, whole, s != steps));
    for (size_t i = 0; i < operands.size(); ++i)
      STITCH_OK_OR_RETURN(tensor(given[i], id_operand + static_cast<int64_t>(i), operands[i].type,
                                 backend_dims(operands[i].per_sample ? spec.batch : 1, spec.channels_out,
                                              operands[i].per_pixel ? spec.size_out : nullptr, n),
                                 false));
    STITCH_OK_OR_RETURN(describe_geometry(spec, geometry_));
    STITCH_OK_OR_RETURN(describe_forward(geometry_, x, w, results[0], operations[0]));
    for (size_t s = 0; s < steps; ++s) {
      const FusedStep& step = steps_[s];
      const BackendDescriptor* second = nullptr;
      if (step.kind == FusedStep::step) second = &results[static_cast<size_t>(step.second + 1)];
      if (step.kind == FusedStep::operand) second = &given[static_cast<size_t>(step.second)];
      if (step.kind == FusedStep::constant) {
        STITCH_OK_OR_RETURN(tensor(constants[s], id_constant + static_cast<int64_t>(s), CUDNN_DATA_FLOAT,
                                   BackendDims(static_cast<size_t>(n) + 2, 1), false, true));
        second = &constants[s];
      }
      STITCH_OK_OR_RETURN(pointwise(step, results[static_cast<size_t>(step.first + 1)], second,
                                    results[s + 1], kinds[s], operations[s + 1]));
    }
    BackendDescriptor graph;
    STITCH_OK_OR_RETURN(describe_operations(handle, operations, graph));
    STITCH_OK_OR_RETURN(choose(handle, spec, graph));
    // It isn't documented what a plan still reads of its descriptors, so they are kept.
    for (std::vector<BackendDescriptor>* list : {&results, &given, &constants, &kinds, &operations})
      for (BackendDescriptor& each : *list) kept_.push_back(std::move(each));
    for (BackendDescriptor* each : {&x, &w, &graph}) kept_.push_back(std::move(*each));
    return STITCH_OK;
  }

  StitchStatus choose(cudnnHandle_t handle, const ConvolutionSpec& spec, const BackendDescriptor& graph) {
    // Heuristic engines best first, then fallbacks; deterministic ones preferred.
    std::vector<BackendDescriptor> proposals;
    STITCH_OK_OR_RETURN(
        propose_engines(graph, {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}, most_proposals, proposals));
    proposals.erase(std::remove_if(proposals.begin(), proposals.end(),
                                   [](const BackendDescriptor& each) {
                                     return EngineFacts(each).notes(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
                                   }),
                    proposals.end());
    const int count = static_cast<int>(proposals.size());
    if (spec.algorithm.refused(count))
      return fail(STITCH_UNSUPPORTED, "cuDNN: engine %d of %d", spec.algorithm.index, count);
    // The requested one, or the first from there on that can be built.
    const bool insists = spec.algorithm.insists && spec.algorithm.index > 0;
    constexpr int most_tries = 3;
    const int first = spec.algorithm.among(count);
    for (int i = first; i < std::min(count, first + most_tries); ++i) {
      const StitchStatus status = engine_.build(handle, proposals[static_cast<size_t>(i)], most_workspace);
      if (status == STITCH_OK || insists) return status;
    }
    return fail(STITCH_UNSUPPORTED, "cuDNN: none of the first of %d engines takes the graph", count);
  }

  Cudnn* library_ = nullptr;
  const FusedConvolution* first_ = this;  // whose engine it uses: its own, or that of an equal convolution
  std::vector<FusedStep> steps_;
  size_t operand_count_ = 0;
  StitchStatus status_ = STITCH_UNSUPPORTED;  // of the graph
  bool fused_ = false;
  BackendDescriptor geometry_;
  BuiltEngine engine_;
  std::vector<BackendDescriptor> kept_;
  Convolution convolution_;
};

}  // namespace stitch
