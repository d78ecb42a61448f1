// Pools and resizing over 1 to 3 spatial dimensions: x (N, C, ...), never unbatched.
#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<size_t> spatial(const TensorType& x) {
  if (x.rank() < 3 || x.rank() > 5) return ill(format("pooling of x {}", text(x.shape)));
  return x.shape.size() - 2;
}

Result<Shape> window_shape(const TensorType& x, const Attributes& attributes, std::vector<int64_t> dilation) {
  STITCH_TRY(size_t dims, spatial(x));
  const auto &kernel = attributes.integers("kernel"), &stride = attributes.integers("stride"),
             &padding = attributes.integers("padding");
  if (dilation.empty()) dilation.assign(dims, 1);
  if (kernel.size() != dims || stride.size() != dims || padding.size() != dims || dilation.size() != dims)
    return ill(format("pooling over {} dimensions with kernel {}, stride {}, padding {}", dims, text(kernel),
                      text(stride), text(padding)));
  Shape shape = {x.shape[0], x.shape[1]};
  for (size_t i = 0; i < dims; ++i) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 || kernel[i] > 1 << 20 ||
        stride[i] > 1 << 20 || dilation[i] > 1 << 20 || padding[i] > kernel[i] / 2)
      return ill("kernel, stride and dilation are at least 1, padding at most half the kernel");
    int64_t room = x.shape[i + 2] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    if (room < 0)
      return ill(format("the pool {} is larger than the padded x {}", text(kernel), text(x.shape)));
    int64_t size = room / stride[i] + 1;
    if (attributes.flag("ceil")) {
      size = (room + stride[i] - 1) / stride[i] + 1;
      // The last window must start inside the input or its left padding.
      if ((size - 1) * stride[i] >= x.shape[i + 2] + padding[i]) --size;
    }
    shape.push_back(size);
  }
  return shape;
}

Result<ResultTypes> infer_max_pool(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Shape shape, window_shape(*in[0], attributes, attributes.integers("dilation")));
  ResultTypes types = {{in[0]->dtype, shape, {}}};
  if (attributes.flag("indices")) types.push_back({DType::i64, shape, {}});
  return types;
}

Result<ResultTypes> infer_avg_pool(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "x"));
  STITCH_TRY(Shape shape, window_shape(*in[0], attributes, {}));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<Shape> given_size(const TensorType& x, const Attributes& attributes) {
  STITCH_TRY(size_t dims, spatial(x));
  const auto& size = attributes.integers("size");
  if (size.size() != dims) return ill(format("{} spatial dimensions and a size {}", dims, text(size)));
  Shape shape = {x.shape[0], x.shape[1]};
  for (size_t i = 0; i < dims; ++i) {
    if (size[i] < 0 || (x.shape[i + 2] == 0 && size[i] > 0))
      return ill(format("x {} can't become the size {}", text(x.shape), text(size)));
    shape.push_back(size[i]);
  }
  STITCH_CHECK(need_fit(shape));
  return shape;
}

Result<ResultTypes> infer_adaptive_avg(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "x"));
  STITCH_TRY(Shape shape, given_size(*in[0], attributes));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_adaptive_max(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Shape shape, given_size(*in[0], attributes));
  ResultTypes types = {{in[0]->dtype, shape, {}}};
  if (attributes.flag("indices")) types.push_back({DType::i64, shape, {}});
  return types;
}

Result<ResultTypes> infer_resize(OperandTypes in, const Attributes& attributes) {
  const std::string& mode = attributes.text("mode");
  if (mode != "nearest" && mode != "nearest_exact" && mode != "linear" && mode != "cubic")
    return ill(
        format("resize's mode is \"nearest\", \"nearest_exact\", \"linear\" or \"cubic\", not \"{}\"", mode));
  if (mode == "linear" || mode == "cubic") STITCH_CHECK(need_floating(*in[0], "x"));
  STITCH_TRY(Shape shape, given_size(*in[0], attributes));
  const auto& scales = attributes.numbers("scales");
  if (!scales.empty() && scales.size() != shape.size() - 2)
    return ill("resize's scales are one a spatial dimension, or none");
  if (std::ranges::any_of(scales, [](double s) { return !(s > 0); }))
    return ill("resize's scales are positive");
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Cost window_cost(OperandTypes in, const Attributes& attributes, const ResultTypes& results) {
  return {.flops = elements(&results[0]) * static_cast<double>(element_count(attributes.integers("kernel"))),
          .bytes = traffic(in, results)};
}

}  // namespace

std::vector<OpInfo> pools() {
  AttributeSpec kernel{"kernel", std::vector<int64_t>{}, true},
      stride{"stride", std::vector<int64_t>{}, true}, padding{"padding", std::vector<int64_t>{}, true},
      ceil{"ceil", false}, size{"size", std::vector<int64_t>{}, true}, indices{"indices", false};
  return {
      {Op::max_pool,
       "max_pool",
       Family::pool,
       "largest element of each window; on request its position in the flattened plane",
       {{"x"}},
       {kernel, stride, padding, {"dilation", std::vector<int64_t>{}, true}, ceil, indices},
       infer_max_pool,
       window_cost},
      {Op::avg_pool,
       "avg_pool",
       Family::pool,
       "mean of each window; divisor 0 means the window's size",
       {{"x"}},
       {kernel, stride, padding, ceil, {"count_padding", true}, {"divisor", int64_t{0}}},
       infer_avg_pool,
       window_cost},
      {Op::adaptive_max_pool,
       "adaptive_max_pool",
       Family::pool,
       "largest element of each of size equal parts",
       {{"x"}},
       {size, indices},
       infer_adaptive_max,
       per_operand},
      {Op::adaptive_avg_pool,
       "adaptive_avg_pool",
       Family::pool,
       "mean of each of size equal parts",
       {{"x"}},
       {size},
       infer_adaptive_avg,
       per_operand},
      {Op::resize,
       "resize",
       Family::pool,
       "interpolation to another size",
       {{"x"}},
       {size, {"mode", std::string("nearest")}, {"align_corners", false}, {"scales", std::vector<double>{}}},
       infer_resize,
       per_result},
  };
}

}  // namespace stitch::ops
