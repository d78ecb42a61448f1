#include "code/products/convolution/convolution.h"

#include <functional>

#include "base/text.h"
#include "code/names.h"
#include "plan/constants.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

plan::Precision convolution_precision(const plan::Context& context, const plan::Region& region) {
  const Node& node = *plan::convolution_in(context.graph, region);
  if (context.graph.type(node.results[0]).dtype != DType::f32)
    return plan::Precision::f32;  // as it is stored
  if (region.offer.rounds_to_half()) return plan::Precision::f16;
  if (region.offer.arithmetic == plan::Arithmetic::exact) return plan::Precision::f32;
  switch (context.numerics) {
    case Numerics::strict: return plan::Precision::f32;
    case Numerics::half: return plan::Precision::f16;
    case Numerics::standard:
    case Numerics::tf32: break;
  }
  return plan::Precision::tf32;
}

std::array<int64_t, 5> Convolution::strides(const View& view) const {
  std::array<int64_t, 5> out{view.strides[0], view.strides[1], 0, 0, 0};
  for (size_t d = 0; d < dims; ++d) out[5 - dims + d] = view.strides[d + 2];
  return out;
}

Convolution geometry_of(const Graph& graph, const Node& node) {
  Convolution out;
  const Shape &x = graph.type(node.operands[0]).shape, &weight = graph.type(node.operands[1]).shape,
              &y = graph.type(node.results[0]).shape;
  out.transposed = node.op == Op::conv_transpose;
  out.dims = x.size() - 2;
  out.batch = x[0];
  out.channels_in = x[1];
  out.channels_out = y[1];
  out.groups = node.attributes.integer("groups");
  for (size_t d = 0; d < out.dims; ++d) {
    size_t at = 3 - out.dims + d;
    out.size_in[at] = x[d + 2];
    out.size_out[at] = y[d + 2];
    out.kernel[at] = weight[d + 2];
    out.stride[at] = node.attributes.integers("stride")[d];
    out.padding[at] = node.attributes.integers("padding")[d];
    out.dilation[at] = node.attributes.integers("dilation")[d];
  }
  return out;
}

Convolution deciding_geometry(const RegionRequest& request, const Node& node) {
  const Graph& graph = request.deciding().graph;
  return geometry_of(graph, graph.node(request.graph.number_of(node)));
}

Result<Convolution> accepts_convolution(const Graph& graph, const plan::Region& region,
                                        const ConvolutionLimits& limits) {
  STITCH_TRY(const Parts parts, parts_of(graph, region, convolution_ops));
  const Node& node = *parts.product;
  const Convolution c = geometry_of(graph, node);
  const TensorType &x = graph.type(node.operands[0]), &y = graph.type(node.results[0]);
  const Convolution::Three once{1, 1, 1}, none{0, 0, 0};
  if (limits.only_f32 && y.dtype != DType::f32) return not_for(region, "takes convolutions of f32");
  if (y.dtype == DType::f64) return not_for(region, "has no convolutions of f64");
  if (limits.one_group && (c.transposed || c.groups > 1))
    return not_for(region, "has no groups and no transposed convolutions");
  if (x.elements() == 0 || y.elements() == 0 || c.taps() == 0)
    return not_for(region, "has no convolutions of nothing");
  if (limits.packs && !plan::is_constant(graph, node.operands[1]))
    return not_for(region, "packs its weight once");
  if (limits.one_tap && (c.taps() != 1 || c.padding != none))
    return not_for(region, "has kernels of one pixel only, without padding");
  if (!limits.strides && c.stride != once) return not_for(region, "has no strides");
  constexpr int64_t most = int64_t{1} << 31;
  if (limits.indexed_by_int && (x.elements() >= most || y.elements() >= most))
    return not_for(region, "has no tensors of 2^31 elements");
  return c;
}

Result<Convolution> convolution_of(const RegionRequest& request, const Parts& parts) {
  Convolution out = geometry_of(request.graph, *parts.product);
  auto x = find_view(request, parts.product->operands[0]),
       weight = find_view(request, parts.product->operands[1]);
  if (!x || !weight) return not_for(request.region, "can't read its operands where they lie");
  out.x = *x;
  out.weight = *weight;
  STITCH_TRY(out.result, result_place(request, parts));
  return out;
}

std::string describe(const Convolution& c) {
  auto named = [](const View& view) {
    return format("{} {}", view.place->pointer, shape_comment(view.shape));
  };
  std::string text =
      format("{} = {} {} {}", named(c.result.view), named(c.x), c.transposed ? "*ᵀ" : "*", named(c.weight));
  auto add = [&](const char* name, const Convolution::Three& values, int64_t usual) {
    std::vector<int64_t> own(values.end() - static_cast<std::ptrdiff_t>(c.dims), values.end());
    for (int64_t value : own)
      if (value != usual) {
        text += format(", {} {}", name, join(own, "x"));
        return;
      }
  };
  add("stride", c.stride, 1);
  add("padding", c.padding, 0);
  add("dilation", c.dilation, 1);
  if (c.groups > 1) text += format(", {} groups", c.groups);
  return text;
}

bool dense_nchw(const View& view) { return view.contiguous(); }

bool channels_last(const Convolution& convolution, const View& view) {
  std::vector<int64_t> dims = {0};
  for (size_t d = 0; d < convolution.dims; ++d) dims.push_back(static_cast<int64_t>(d) + 2);
  dims.push_back(1);
  return permuted(view, dims).contiguous();
}

namespace {

std::string layer_index_function(std::string_view name, const Convolution& c, const View& view, bool input,
                                 const std::function<Index(const Index&)>& scatter) {
  auto strides = c.strides(view);
  const auto& size = input ? c.size_in : c.size_out;
  const char* names[] = {"n", "c", "y", "x"};
  int64_t extents[] = {c.batch, input ? c.channels_in : c.channels_out, size[1], size[2]};
  int64_t steps[] = {strides[0], strides[1], strides[3], strides[4]};
  Index sum(view.offset);
  for (size_t i = 0; i < 4; ++i) sum = sum + Index::variable(names[i], extents[i]) * steps[i];
  if (scatter) sum = scatter(sum);
  std::vector<std::string> parameters;
  for (const char* each : names) parameters.push_back(sum.appears(each) ? format("Index {}", each) : "Index");
  return format("  __device__ static Index {}({}) {{ return {}; }}\n", name, join(parameters, ", "),
                sum.text());
}

}  // namespace

std::string described_as(const std::string& name, bool flat) {
  return name + (flat ? " : stitch::FlatConvolution" : "");
}

std::string stride_constants(std::string_view of, const std::array<int64_t, 5>& strides, int64_t offset,
                             bool flat, std::string_view first, std::string_view second) {
  std::string text =
      format("  static constexpr int64_t {0}_stride_{1} = {2}, {0}_stride_{3} = {4}, {0}_offset = {5};\n", of,
             first, strides[0], second, strides[1], offset);
  return text + format("  static constexpr int64_t {}{}_stride_y = {}, {}_stride_x = {};\n",
                       flat ? "" : format("{}_stride_z = {}, ", of, strides[2]), of, strides[3], of,
                       strides[4]);
}

std::string layer_head(const Convolution& c, const std::string& name) {
  constexpr int64_t small = int64_t{1} << 30;
  const bool fits = element_count(c.x.shape) < small && element_count(c.result.view.shape) < small;
  return format("struct {} {{  // {}\n", name, describe(c)) +
         format("  using In = {};\n  using Weight = {};\n  using Out = {};\n  using Index = {};\n",
                element_type(c.x.place->dtype), element_type(c.weight.place->dtype),
                element_type(c.result.view.place->dtype), fits ? "int" : "int64_t");
}

std::string layer_geometry(const Convolution& c) {
  std::string text =
      format("  static constexpr int batch = {}, height = {}, width = {}, out_height = {}, out_width = {};\n",
             c.batch, c.size_in[1], c.size_in[2], c.size_out[1], c.size_out[2]);
  text += format("  static constexpr int kernel_y = {}, kernel_x = {}, stride_y = {}, stride_x = {};\n",
                 c.kernel[1], c.kernel[2], c.stride[1], c.stride[2]);
  return text + format("  static constexpr int pad_y = {}, pad_x = {}, dilation_y = {}, dilation_x = {};\n",
                       c.padding[1], c.padding[2], c.dilation[1], c.dilation[2]);
}

std::string layer_indices(const Convolution& c) {
  View dense = c.result.view;
  dense.strides = contiguous_strides(dense.shape);
  dense.offset = 0;
  return layer_index_function("x", c, c.x, true, {}) +
         layer_index_function("out", c, c.result.scatter ? dense : c.result.view, false, c.result.scatter);
}

}  // namespace stitch::code
