#include "code/products/recurrence/layer_indices.h"

#include <functional>

#include "base/text.h"
#include "code/names.h"

namespace stitch::code {

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
      format("  static constexpr int height = {}, width = {}, out_height = {}, out_width = {};\n",
             c.size_in[1], c.size_in[2], c.size_out[1], c.size_out[2]);
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
