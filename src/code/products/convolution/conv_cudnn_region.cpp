#include "code/products/convolution/conv_cudnn.h"

#include <algorithm>

#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/convolution/rearranged.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

ValueId residual_of(const Graph& graph, const Parts& parts) {
  const Node& product = *parts.product;
  const bool bias = product.operands.size() > 2 && product.operands[2] != ValueId::none;
  if (!bias || product.op != Op::conv || parts.after.empty() || parts.after.size() > 2) return ValueId::none;
  const Node& add = *parts.after[0];
  const ValueId own = product.results[0];
  if (add.op != Op::add || (parts.after.size() == 2 && parts.after[1]->op != Op::relu)) return ValueId::none;
  const ValueId other = add.operands[add.operands[0] == own ? 1 : 0];
  return other != own && graph.type(other).shape == graph.type(own).shape ? other : ValueId::none;
}

namespace {

// Decides everything about one region, in order.
class Writer {
 public:
  Writer(const RegionRequest& request, CudnnForm form)
      : request_(request),
        form_(form),
        product_(type_name(request.name, "Product")),
        signature_("enqueue_" + request.name) {}

  Result<RegionCode> write() {
    STITCH_TRY(parts_, parts_of(request_.graph, request_.region, convolution_ops));
    STITCH_TRY(c_, convolution_of(request_, parts_));
    DType dtype = request_.graph.type(parts_.product->results[0]).dtype;
    bool half = dtype == DType::f32 &&
                (request_.region.offer.rounds_to_half() || request_.context.numerics == Numerics::half);
    type_ = half ? DType::f16 : dtype;
    last_ = form_ != CudnnForm::as_pytorch &&
            (type_ != DType::f32 || request_.region.offer.order == plan::Order::channels_last ||
             (channels_last(c_, c_.x) && !dense_nchw(c_.x)));
    planes_ = last_ && c_.strides(c_.result.view)[1] != 1;
    decide_phases();
    if (last_ && !is_exact()) folded_ = folded_of(request_.graph, c_, 16 / size_of(type_));
    STITCH_TRY(epilogue_, epilogue_of(request_, parts_, 1, planes_ ? run_of_pixels() : 1));
    decide_result();
    std::string x = input(), weight = filter();
    member();
    if (graph_) {
      std::vector<std::string> operands;
      for (const Place* place : graph_->places) operands.push_back(place->pointer);
      body_ += format(
          "  STITCH_OK_OR_RETURN(\n      {0}_convolution.enqueue({1}, {2}, {3}, {{{4}}}, stream));\n"
          "  if ({0}_convolution.fused()) return STITCH_OK;\n  // cuDNN has no engine for all of it.\n",
          request_.name, x, weight, result_, join(operands, ", "));
    } else {
      if (residual_) signature_.read(*residual_);
      body_ += format("  STITCH_OK_OR_RETURN({}_convolution.enqueue({}, {}, {}, stream{}));\n", request_.name,
                      x, weight, result_, residual_ ? ", " + residual_->pointer : "");
    }
    finish();
    return std::move(code_);
  }

 private:
  bool matches(const View& view, DType dtype) const {
    if (view.place->dtype != dtype || view.offset != 0) return false;
    return last_ ? channels_last(c_, view) : dense_nchw(view);
  }
  bool is_weight(const Place* place) const { return plan::is_constant(request_.graph, place->value); }
  // The caller's memory may be aligned to its elements only.
  void reserve(const std::string& name, int64_t elements, const std::string& comment) {
    signature_.workspace();
    body_ += format("  auto* {} = reinterpret_cast<{}*>(static_cast<char*>(workspace) + {});  // {}\n", name,
                    element_type(type_), code_.workspace_bytes, comment);
    code_.workspace_bytes += (elements * size_of(type_) + 255) / 256 * 256;
  }
  std::string image_comment(int64_t channels, const Convolution::Three& size) const {
    std::string plane;
    for (size_t d = 3 - c_.dims; d < 3; ++d) plane += format("{}{}", plane.empty() ? "" : ", ", size[d]);
    return last_ ? format("({}, {}, {})", c_.batch, plane, channels)
                 : format("({}, {}, {})", c_.batch, channels, plane);
  }

  // One convolution for all phases is faster than the gradient: on an H200 1.2
  // to 1.8 times in TF32, 1.2 to 1.5 in fp16 for few filters; with many it is slower, and for images with
  // zeros among the taps the gain is lost when the phases are interleaved (Level 2's 2, 16).
  void decide_phases() {
    if (!last_ || is_exact()) return;
    std::optional<Phases> phases = phases_of(c_);
    if (!phases) return;
    const bool flat = c_.dims < 3;
    const bool wins = type_ == DType::f32
                          ? flat || c_.channels_out <= 32 || !phases->pads_taps(c_)
                          : phases->taps() > 1 && (flat ? c_.channels_out <= 64 && !phases->pads_taps(c_)
                                                        : c_.channels_out <= 32);
    if (wins) phases_ = *phases;
  }
  bool is_exact() const {
    return type_ == DType::f32 && (request_.context.numerics == Numerics::strict ||
                                   request_.region.offer.arithmetic == plan::Arithmetic::exact);
  }

  void decide_result() {
    const View& out = c_.result.view;
    direct_ = !phases_ && !c_.result.scatter && matches(out, type_);
    auto library = library_epilogue_of(request_, parts_, 1);
    bool fits = form_ != CudnnForm::as_pytorch && library &&
                library->activation != LibraryEpilogue::gelu_tanh &&
                (!library->bias || (is_weight(library->bias->place) && !c_.transposed)) &&
                (library->bias || !library->activation);
    if (fits) library_ = *library;
    // fp16 in memory and more to compute: one pass does both. After transposed convolutions cuDNN adds a bias
    // in a separate pass, slower than ours, and it rounds a bias to the image's type.
    bool rounds_bias = library && library->bias && type_ != DType::f32 &&
                       request_.region.offer.arithmetic == plan::Arithmetic::half_exact_bias;
    in_library_ = fits && (direct_ || type_ == DType::f32) && !rounds_bias;
    finishes_ = !direct_ || !in_library_;
    if (!in_library_ && form_ == CudnnForm::library && take_residual()) in_library_ = true, finishes_ = false;
    if (form_ == CudnnForm::graph && direct_ && !is_exact()) graph_ = graph_epilogue_of(request_, parts_, c_);
    if (graph_) in_library_ = false, finishes_ = true;
    if (!in_library_) library_ = {};
    result_ = out.place->pointer;
    if (!direct_) {
      result_ = "convolved";
      if (phases_)
        reserve(result_, phases_->elements(c_), image_comment(phases_->filters(c_), phases_->size));
      else
        reserve(result_, element_count(out.shape), image_comment(c_.channels_out, c_.size_out));
    }
    signature_.write(*out.place);
    checks_alignment(direct_, *out.place);
    if (graph_)
      for (const Place* place : graph_->places) checks_alignment(true, *place);
  }

  // Bias, residual and ReLU by the library's call, if all layouts match.
  bool take_residual() {
    const ValueId value = residual_of(request_.graph, parts_);
    if (value == ValueId::none || !direct_ || !last_ ||
        (type_ != DType::f32 && request_.region.offer.arithmetic == plan::Arithmetic::half_exact_bias))
      return false;
    auto residual = find_view(request_, value), bias = find_view(request_, parts_.product->operands[2]);
    if (!residual || !matches(*residual, type_) || !bias || !is_weight(bias->place) || !bias->contiguous() ||
        bias->offset != 0)
      return false;
    residual_ = residual->place;
    library_ = {parts_.after.size() == 2 ? LibraryEpilogue::relu : LibraryEpilogue::none, *bias};
    checks_alignment(true, *residual_);
    return true;
  }

  void checks_alignment(bool direct, const Place& place) {
    if (direct && is_from_caller(request_.graph, place.value))
      unaligned_.push_back(
          format("!stitch::is_aligned({}, {})", place.pointer, form_ == CudnnForm::as_pytorch ? 32 : 16));
  }

  // Tensor cores truncate FP32's last 13 bits, which makes every positive image smaller: a 2000th relative to
  // a threshold was 8e-3 of what was left (Level 2's 93, H200). Filters, and images that are copied anyway,
  // are rounded to TF32 instead.
  std::string rounded(const std::string& pointer) const {
    return type_ == DType::f32 && last_ && !is_exact()
               ? format("reinterpret_cast<stitch::Tf32*>({})", pointer)
               : pointer;
  }

  std::string input() {
    const Place& place = *c_.x.place;
    signature_.read(place);
    if (folded_) {
      padded_ = folded_->padded;
      const std::string name = place.pointer + "_folded";
      reserve(name, folded_->elements(c_), image_comment(padded_, folded_->size));
      body_ += format("  STITCH_OK_OR_RETURN(stitch::fold_image({}{{}}, {}, {}, stream));\n", folded_name(),
                      place.pointer, name);
      return name;
    }
    padded_ = c_.channels_in;
    bool direct = matches(c_.x, type_);
    checks_alignment(direct, place);
    if (direct) return place.pointer;
    // Tensor cores take 16 bytes at a time; padding with zeros is cheaper than the slow path.
    const int64_t at_once = 16 / size_of(type_);
    if ((type_ != DType::f32 || graph_) && c_.groups == 1 && (!c_.transposed || phases_))
      padded_ = (c_.channels_in + at_once - 1) / at_once * at_once;
    int64_t pixels = c_.size_in[0] * c_.size_in[1] * c_.size_in[2];
    std::string name = place.pointer + "_arranged";
    reserve(name, c_.batch * padded_ * pixels, image_comment(padded_, c_.size_in));
    auto strides = c_.strides(c_.x);
    std::string from = c_.x.offset ? format("{} + {}", place.pointer, c_.x.offset) : place.pointer;
    std::string where = format("stitch::ImageStrides{{{}, {}, {}, {}, {}, {}, {}}}", strides[0], strides[1],
                               strides[2], strides[3], strides[4], c_.size_in[1], c_.size_in[2]);
    if (last_)
      body_ += format(
          "  STITCH_OK_OR_RETURN(stitch::to_channels_last<{}>(\n      {}, {}, {}, {}, {}, {}, stream));\n",
          padded_, from, rounded(name), where, c_.batch, c_.channels_in, pixels);
    else
      body_ += format(
          "  STITCH_OK_OR_RETURN(stitch::to_channels_first(\n      {}, {}, {}, {}, {}, {}, stream));\n", from,
          name, where, c_.batch, c_.channels_in, pixels);
    return name;
  }

  std::string filter() {
    const Place& place = *c_.weight.place;
    if (!last_ && place.dtype == type_ && c_.weight.contiguous() && c_.weight.offset == 0) {
      signature_.read(place);
      return place.pointer;
    }
    int64_t filters = c_.weight.shape[0], channels = c_.weight.shape[1];
    int64_t padded = padded_ == c_.channels_in ? channels : padded_;
    std::string name = request_.own_name(place) + "_packed", pack = "pack_" + request_.own_name(place);
    if (phases_) {
      std::string all = format("({}, {}, {}): filters of all phases, taps, channels", phases_->filters(c_),
                               phases_->taps(), padded_);
      add_packed(name, pack, place, phases_->filters(c_) * phases_->taps() * padded_, all,
                 format("stitch::pack_phases<{}, {}>({}, {}, stream)", phases_name(), padded_, place.pointer,
                        rounded("packed")));
      signature_.packed(code_.packed.back(), all);
      return name;
    }
    if (folded_) {
      const int64_t taps = folded_->taps[1] * folded_->taps[2];
      std::string all = format("({}, {}, {}): filters, folded taps and channels", filters, taps, padded_);
      add_packed(name, pack, place, filters * taps * padded_, all,
                 format("stitch::pack_folded<{}>({}, packed, stream)", folded_name(), place.pointer));
      signature_.packed(code_.packed.back(), all);
      return name;
    }
    std::string comment = format("({}, {}, {}): filters, taps, channels", filters, c_.taps(), padded);
    add_packed(name, pack, place, filters * c_.taps() * padded, comment,
               format("stitch::pack_filter({}, {}, {}, {}, {}, {}, stream)", place.pointer, rounded("packed"),
                      filters, channels, padded, c_.taps()));
    signature_.packed(code_.packed.back(), comment);
    return name;
  }

  void add_packed(const std::string& name, const std::string& pack, const Place& place, int64_t elements,
                  const std::string& comment, const std::string& call) {
    Packed packed = packed_memory(name, type_, elements, PackCall{pack, {place.pointer, name}});
    Signature signature(pack);
    signature.read(place);
    signature.add(Signature::writes, packed.type + "*", "packed", comment);
    code_.declaration += signature.declaration();
    functions_ += format("{} {{\n  return {};\n}}\n\n", signature.head(), call);
    code_.packed.push_back(std::move(packed));
  }

  void member() {
    size_t dims = std::max<size_t>(c_.dims, 2), first = 3 - dims;
    auto three = [&](const Convolution::Three& values) {
      std::vector<int64_t> own(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
      return "{" + join(own, ", ") + "}";
    };
    std::string name = request_.name + "_convolution";
    std::string spec = format(
        "{{\n  // dimensions, batch, channels in and out, groups; sizes in and out, kernel, stride, padding, "
        "dilation\n"
        "  stitch::ConvolutionSpec spec{{{}, {}, {}, {}, {},\n                               {}, {}, {}, {}, "
        "{}, {}}};\n",
        dims, c_.batch, padded_, phases_ ? phases_->filters(c_) : c_.channels_out, c_.groups,
        three(folded_ ? folded_->size : c_.size_in), three(phases_ ? phases_->size : c_.size_out),
        three(phases_   ? phases_->per_axis
              : folded_ ? folded_->taps
                        : c_.kernel),
        three(phases_ || folded_ ? Convolution::Three{1, 1, 1} : c_.stride),
        three(phases_   ? phases_->padding
              : folded_ ? Convolution::Three{0, 0, 0}
                        : c_.padding),
        three(c_.dilation));
    if (c_.transposed && !phases_) spec += "  spec.transposed = true;\n";
    if (last_) spec += "  spec.layout = CUDNN_TENSOR_NHWC;\n";
    if (type_ == DType::f16) spec += "  spec.type = CUDNN_DATA_HALF;\n";
    if (type_ == DType::bf16) spec += "  spec.type = CUDNN_DATA_BFLOAT16;\n";
    if (!is_exact()) spec += "  spec.math = CUDNN_DEFAULT_MATH;\n";
    std::vector<std::string> kept;
    if (library_.bias) {
      const Place& place = *library_.bias->place;
      std::string bias = place.pointer;
      if (place.dtype == type_) {
        kept = {bias};
      } else {
        bias = request_.own_name(place) + "_packed";
        add_packed(
            bias, "pack_" + request_.own_name(place), place, c_.channels_out, format("({})", c_.channels_out),
            format("stitch::pack_filter({}, packed, {}, 1, 1, 1, stream)", place.pointer, c_.channels_out));
      }
      spec += format("  spec.bias = {};\n", bias);
    }
    if (library_.activation == LibraryEpilogue::relu) spec += "  spec.relu = true;\n";
    if (request_.region.choice("search", 0) == 1) spec += "  spec.search = true;\n";
    if (form_ != CudnnForm::as_pytorch) spec += proposal_spec(code_, request_.region, name);
    if (graph_)
      spec += format("  STITCH_OK_OR_RETURN({}.create(\n      {}, spec,\n      {{{}}},\n      {{{}}}));\n}}",
                     name, request_.cudnn, join(graph_->steps, ",\n       "), join(graph_->operands, ", "));
    else
      spec += format("  STITCH_OK_OR_RETURN({}.create({}, spec));\n}}", name, request_.cudnn);
    code_.members.push_back(
        {member_type(), name, spec, kept, form_ == CudnnForm::as_pytorch || graph_.has_value()});
    signature_.member(code_.members.back());
  }

  std::string member_type() const {
    if (form_ == CudnnForm::as_pytorch) return "stitch::ConvolutionAsPyTorch";
    return graph_ ? "stitch::FusedConvolution" : "stitch::Convolution";
  }
  std::string_view header() const {
    if (form_ == CudnnForm::as_pytorch) return "cudnn_as_pytorch";
    return graph_ ? "cudnn_graph" : "cudnn";
  }

  std::string phases_name() const { return type_name(request_.name, "Phases"); }
  std::string folded_name() const { return type_name(request_.name, "Folded"); }

  // Pixels of a plane that are written at once.
  int64_t run_of_pixels() const {
    const View& out = c_.result.view;
    auto strides = c_.strides(out);
    bool dense = !c_.result.scatter && strides[4] == 1 &&
                 (c_.size_out[1] == 1 || strides[3] == c_.size_out[2]) &&
                 (c_.size_out[0] == 1 || strides[2] == c_.size_out[1] * c_.size_out[2]);
    return dense && c_.positions() % 4 == 0 && strides[0] % 4 == 0 && strides[1] % 4 == 0 &&
                   out.offset % 4 == 0
               ? 4
               : 1;
  }

  // Elements of 16 bytes that are contiguous in cuDNN's result and in ours.
  int64_t finished_pack() const {
    const View& out = c_.result.view;
    bool same = !c_.result.scatter && out.offset == 0 && (last_ ? channels_last(c_, out) : dense_nchw(out));
    int64_t run = last_ ? c_.channels_out : c_.positions();
    for (int64_t pack = 16 / std::max(size_of(type_), size_of(out.place->dtype)); same && pack > 1; pack /= 2)
      if (run % pack == 0) return pack;
    return 1;
  }

  void finish() {
    const Place& out = *c_.result.view.place;
    std::string functor = in_library_ ? "stitch::NoEpilogue{}" : epilogue_.construct;
    bool needs_struct = finishes_ || !unaligned_.empty();
    std::string phases = phases_ ? format(", {}{{}}", phases_name()) : "";
    if (finishes_) {
      if (planes_)
        body_ += format(
            "  return stitch::finish_transposed<{}>(\n      \"{}\", {}{{}}, {}, {}, {}, {}, {}, stream{});\n",
            run_of_pixels(), request_.name, product_, result_, out.pointer, functor, c_.batch, c_.positions(),
            phases);
      else
        body_ += format(
            "  return stitch::finish_image<{}, {}>(\n      \"{}\", {}{{}}, {}, {}, {}, {}, stream{});\n",
            last_, finished_pack(), request_.name, product_, result_, out.pointer, functor, c_.positions(),
            phases);
    } else {
      body_ += "  return STITCH_OK;\n";
    }
    if (!unaligned_.empty()) {
      // cuDNN needs whole vectors; the plain kernel takes anything.
      signature_.read(*c_.weight.place);
      body_ = format(
          "  if ({})  // cuDNN can't: the plain kernel then\n    return stitch::enqueue_product<{}>(\n       "
          " \"{}\", {}{{}}, {}, {}, {}, {}, stream);\n{}",
          join(unaligned_, " || "), product_lanes(c_), request_.name, product_, c_.weight.place->pointer,
          c_.x.place->pointer, out.pointer, epilogue_.construct, body_);
    }
    bool needs_functor = !epilogue_.empty() && (!unaligned_.empty() || (finishes_ && !in_library_));
    if (needs_functor)
      for (const Place* place : epilogue_.places) signature_.read(*place);
    code_.includes = format(
        "#include \"stitch/kernels/conv_arrange.h\"\n#include \"stitch/runtime/{}.h\"\n"
        "#include \"stitch/runtime/tensors.h\"\n",
        header());
    if (folded_) code_.includes += "#include \"stitch/kernels/conv_folded.h\"\n";
    code_.libraries = {"cudnn"};
    code_.source =
        format("// {}{}\n// By cuDNN in {}, {}{}; {}_convolution holds the algorithm.\n", describe(c_),
               epilogue_.then(), name(type_), last_ ? "channels last" : "channels first",
               phases_                          ? ", one convolution for all phases"
               : folded_                        ? ", strides folded into channels"
               : graph_                         ? ", as one operation graph"
               : form_ == CudnnForm::as_pytorch ? ", by the engine that PyTorch takes"
                                                : "",
               request_.name);
    if (phases_) code_.source += phases_struct(c_, *phases_, phases_name()) + "\n";
    if (folded_) code_.source += folded_struct(c_, *folded_, folded_name()) + "\n";
    if (needs_struct) code_.source += convolution_struct(c_, product_) + "\n";
    if (needs_functor) code_.source += epilogue_.definition + "\n";
    code_.source += functions_ + format("{} {{\n{}}}\n", signature_.head(), body_);
    code_.declaration += signature_.declaration();
    code_.arguments = signature_.arguments();
  }

  const RegionRequest& request_;
  const CudnnForm form_;
  std::optional<GraphEpilogue> graph_;
  const Place* residual_ = nullptr;  // added by the library
  Parts parts_;
  Convolution c_;
  Epilogue epilogue_;
  LibraryEpilogue library_;
  DType type_ = DType::f32;  // of cuDNN's input and output
  bool last_ = false;        // NHWC
  bool planes_ = false;      // the final result is NCHW
  bool direct_ = false, in_library_ = false, finishes_ = false;
  std::optional<Phases> phases_;  // of a transposed convolution computed as a forward one
  std::optional<Folded> folded_;  // of a strided one
  int64_t padded_ = 0;            // channels of cuDNN's input
  std::string product_, result_, body_, functions_;
  std::vector<std::string> unaligned_;
  Signature signature_;
  RegionCode code_;
};

}  // namespace

Result<RegionCode> write_cudnn_convolution(const RegionRequest& request, CudnnForm form) {
  return Writer(request, form).write();
}

}  // namespace stitch::code
