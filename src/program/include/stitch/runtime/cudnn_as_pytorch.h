// A convolution by the engine that PyTorch uses: the first heuristic proposal for NCHW images that can be
// built (PyTorch 2 with cudnn.benchmark off). The same kernel rounds operands to TF32 in the same places, or
// doesn't, and adds in the same order.
#pragma once

#include "stitch/runtime/cudnn_backend.h"

namespace stitch {

// y = conv(x, w), or the transposed convolution. Pointers are aligned to 32 bytes, like PyTorch's.
class ConvolutionAsPyTorch {
 public:
  ConvolutionAsPyTorch() = default;
  ConvolutionAsPyTorch(const ConvolutionAsPyTorch&) = delete;
  ConvolutionAsPyTorch& operator=(const ConvolutionAsPyTorch&) = delete;

  StitchStatus create(Cudnn& library, const ConvolutionSpec& spec) {
    library_ = &library;
    first_ =
        static_cast<const ConvolutionAsPyTorch*>(library.first_of("as PyTorch " + engine_key(spec), this));
    if (first_ != this) return STITCH_OK;
    library.add({[this, spec](cudnnHandle_t handle) { status_ = choose(handle, spec); },
                 [this, spec] { return finish(spec); }});
    return STITCH_OK;
  }

  StitchStatus enqueue(const void* x, const void* w, void* y, cudaStream_t stream) const {
    if (first_->status_ != STITCH_OK) return first_->convolution_.enqueue(x, w, y, stream);
    const int64_t ids[] = {id_x, id_w, id_y};
    const void* pointers[] = {x, w, y};
    return first_->engine_.run(*library_, 3, ids, pointers, stream);
  }

 private:
  static constexpr int64_t id_x = 'x', id_w = 'w', id_y = 'y';
  static constexpr size_t most_proposals = 32;
  static constexpr int64_t most_workspace = int64_t{1} << 34;  // PyTorch takes what is available

  StitchStatus tensor(BackendDescriptor& out, int64_t id, const ConvolutionSpec& spec,
                      BackendDims dims) const {
    BackendTensor described{id, spec.type, std::move(dims)};
    described.alignment = 32;
    return described.describe(out);
  }

  StitchStatus choose(cudnnHandle_t handle, const ConvolutionSpec& spec) {
    const int n = spec.dimensions;
    const int filters = spec.transposed ? spec.channels_in : spec.channels_out,
              channels = (spec.transposed ? spec.channels_out : spec.channels_in) / spec.groups;
    BackendDescriptor x, w, y, geometry, graph;
    STITCH_OK_OR_RETURN(tensor(x, id_x, spec, backend_dims(spec.batch, spec.channels_in, spec.size_in, n)));
    STITCH_OK_OR_RETURN(tensor(w, id_w, spec, backend_dims(filters, channels, spec.kernel, n)));
    STITCH_OK_OR_RETURN(tensor(y, id_y, spec, backend_dims(spec.batch, spec.channels_out, spec.size_out, n)));
    STITCH_OK_OR_RETURN(describe_geometry(spec, geometry));
    std::vector<BackendDescriptor> operation(1);
    STITCH_OK_OR_RETURN(spec.transposed ? describe_backward(geometry, x, w, y, operation[0])
                                        : describe_forward(geometry, x, w, y, operation[0]));
    STITCH_OK_OR_RETURN(describe_operations(handle, operation, graph));
    std::vector<BackendDescriptor> proposals;
    STITCH_OK_OR_RETURN(propose_engines(graph, {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK},
                                        most_proposals, proposals));
    for (const BackendDescriptor& each : proposals) {
      if (is_passed_over(spec, EngineFacts(each))) continue;
      if (engine_.build(handle, each, most_workspace) != STITCH_OK) continue;
      // It isn't documented what a plan still reads of its descriptors, so they are kept.
      for (BackendDescriptor* part : {&x, &w, &y, &geometry, &graph, operation.data()})
        kept_.push_back(std::move(*part));
      return STITCH_OK;
    }
    return fail(STITCH_UNSUPPORTED, "cuDNN: none of %d engines takes the convolution",
                static_cast<int>(proposals.size()));
  }

  // Like PyTorch: no engine with less precision than TF32, none with TF32 where it isn't allowed, and not the
  // one engine for 3-d gradients that is known to be wrong.
  static bool is_passed_over(const ConvolutionSpec& spec, const EngineFacts& facts) {
    constexpr int64_t wrong_over_volumes = 23;
    return facts.notes(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
           (spec.math == CUDNN_FMA_MATH && facts.notes(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) ||
           (spec.transposed && spec.dimensions == 3 && facts.index() == wrong_over_volumes);
  }

  StitchStatus finish(const ConvolutionSpec& spec) {
    if (status_ == STITCH_OK)
      return library_->workspace.reserve(static_cast<size_t>(engine_.workspace_bytes));
    return convolution_.create(*library_, spec);
  }

  Cudnn* library_ = nullptr;
  const ConvolutionAsPyTorch* first_ =
      this;  // whose engine it uses: its own, or that of an equal convolution
  StitchStatus status_ = STITCH_UNSUPPORTED;
  BuiltEngine engine_;
  std::vector<BackendDescriptor> kept_;
  Convolution convolution_;  // fallback without an engine
};

}  // namespace stitch
