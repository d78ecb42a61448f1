// Convolutions over 1 to 3 spatial dimensions: x (N, C, ...), never unbatched.
#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

struct Geometry {
  size_t dims;
  const std::vector<int64_t>&stride, &padding, &dilation;
  int64_t groups;
};

Result<Geometry> geometry(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &weight = *in[1];
  STITCH_CHECK(need_floating(x, "x"));
  STITCH_CHECK(need_same_dtype(x, weight, "the weight"));
  if (x.rank() < 3 || x.rank() > 5 || weight.rank() != x.rank())
    return ill(format("a convolution of x {} with weight {}", text(x.shape), text(weight.shape)));
  Geometry g{x.shape.size() - 2, attributes.integers("stride"), attributes.integers("padding"),
             attributes.integers("dilation"), attributes.integer("groups")};
  for (const auto* list : {&g.stride, &g.padding, &g.dilation})
    if (list->size() != g.dims)
      return ill(format("a convolution over {} dimensions with an attribute {}", g.dims, text(*list)));
  for (size_t i = 0; i < g.dims; ++i)
    if (g.stride[i] < 1 || g.dilation[i] < 1 || g.padding[i] < 0 || g.stride[i] > 1 << 20 ||
        g.dilation[i] > 1 << 20 || g.padding[i] > 1 << 20)
      return ill("stride and dilation are at least 1, padding at least 0, none over 2^20");
  if (g.groups < 1 || x.shape[1] % g.groups != 0)
    return ill(format("{} channels don't divide into {} groups", x.shape[1], g.groups));
  return g;
}

Result<ResultTypes> infer_conv(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Geometry g, geometry(in, attributes));
  const TensorType &x = *in[0], &weight = *in[1];
  if (weight.shape[1] != x.shape[1] / g.groups || weight.shape[0] % g.groups != 0)
    return ill(format("a convolution in {} groups of x {} with weight {}", g.groups, text(x.shape),
                      text(weight.shape)));
  if (in[2]) STITCH_CHECK(need_shape(*in[2], {weight.shape[0]}, "the bias"));
  Shape shape = {x.shape[0], weight.shape[0]};
  for (size_t i = 0; i < g.dims; ++i) {
    int64_t room = x.shape[i + 2] + 2 * g.padding[i] - g.dilation[i] * (weight.shape[i + 2] - 1) - 1;
    if (room < 0)
      return ill(format("the kernel {} is larger than the padded x {}", text(weight.shape), text(x.shape)));
    shape.push_back(room / g.stride[i] + 1);
  }
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{x.dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_conv_transpose(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Geometry g, geometry(in, attributes));
  const TensorType &x = *in[0], &weight = *in[1];
  const auto& extra = attributes.integers("output_padding");
  if (weight.shape[0] != x.shape[1] || extra.size() != g.dims)
    return ill(format("a transposed convolution of x {} with weight {}", text(x.shape), text(weight.shape)));
  if (in[2]) STITCH_CHECK(need_shape(*in[2], {weight.shape[1] * g.groups}, "the bias"));
  Shape shape = {x.shape[0], weight.shape[1] * g.groups};
  for (size_t i = 0; i < g.dims; ++i) {
    if (extra[i] < 0 || extra[i] >= std::max(g.stride[i], g.dilation[i]))
      return ill("output_padding is at least 0 and below stride or dilation");
    shape.push_back((x.shape[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] +
                    g.dilation[i] * (weight.shape[i + 2] - 1) + extra[i] + 1);
  }
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{x.dtype, std::move(shape), {}}};
}

// Multiplications with padding count too, as is customary.
Cost conv_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double products = 2 * elements(&results[0]) * elements(in[1]) /
                    static_cast<double>(std::max<int64_t>(in[1]->shape[0], 1));
  return {.flops = products + (in[2] ? elements(&results[0]) : 0),
          .matrix_flops = products,
          .bytes = traffic(in, results)};
}

Cost conv_transpose_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double products =
      2 * elements(in[0]) * elements(in[1]) / static_cast<double>(std::max<int64_t>(in[1]->shape[0], 1));
  return {.flops = products + (in[2] ? elements(&results[0]) : 0),
          .matrix_flops = products,
          .bytes = traffic(in, results)};
}

}  // namespace

std::vector<OpInfo> convolutions() {
  std::vector<OperandSpec> operands = {{"x"}, {"weight"}, {"bias", OperandSpec::optional}};
  std::vector<AttributeSpec> attributes = {{"stride", std::vector<int64_t>{}, true},
                                           {"padding", std::vector<int64_t>{}, true},
                                           {"dilation", std::vector<int64_t>{}, true},
                                           {"groups", int64_t{1}}};
  std::vector<AttributeSpec> transposed = attributes;
  transposed.push_back({"output_padding", std::vector<int64_t>{}, true});
  return {
      {Op::conv, "conv", Family::convolution, "convolution; weight (O, C/groups, kernel...)", operands,
       attributes, infer_conv, conv_cost},
      {Op::conv_transpose, "conv_transpose", Family::convolution,
       "transposed convolution; weight (C, O/groups, kernel...)", operands, transposed, infer_conv_transpose,
       conv_transpose_cost},
  };
}

}  // namespace stitch::ops
