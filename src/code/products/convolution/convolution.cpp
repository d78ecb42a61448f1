#include "code/products/convolution/convolution.h"

#include "base/text.h"
#include "code/names.h"
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

}  // namespace stitch::code
