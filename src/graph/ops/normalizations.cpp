// Softmax and the norms.
#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_softmax(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "the operand"));
  STITCH_CHECK(dimension(attributes.integer("dim"), in[0]->rank()));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_batch_norm(OperandTypes in, const Attributes& attributes) {
  const TensorType& x = *in[0];
  STITCH_CHECK(need_floating(x, "x"));
  if (x.rank() < 2) return ill(format("batch_norm's x has rank {}, at least 2 is needed", x.rank()));
  constexpr std::string_view names[] = {"x", "weight", "bias", "running_mean", "running_var"};
  for (size_t i = 1; i < in.size(); ++i)
    if (in[i]) STITCH_CHECK(need_shape(*in[i], {x.shape[1]}, names[i]));
  bool training = attributes.flag("training");
  if (bool(in[3]) != bool(in[4])) return ill("running_mean and running_var come together");
  if (!training && !in[3]) return ill("batch_norm outside training needs running statistics");
  ResultTypes types = {{x.dtype, x.shape, {}}};
  if (training && in[3]) {
    types.push_back({in[3]->dtype, in[3]->shape, {}});
    types.push_back({in[4]->dtype, in[4]->shape, {}});
  }
  return types;
}

Result<ResultTypes> infer_trailing_norm(OperandTypes in, const Attributes& attributes) {
  const TensorType& x = *in[0];
  STITCH_CHECK(need_floating(x, "x"));
  int64_t dims = attributes.integer("dims");
  if (dims < 1 || dims > x.rank())
    return ill(format("the last {} dimensions of a tensor of rank {}", dims, x.rank()));
  Shape tail(x.shape.end() - dims, x.shape.end());
  if (in[1]) STITCH_CHECK(need_shape(*in[1], tail, "weight"));
  if (in.size() > 2 && in[2]) STITCH_CHECK(need_shape(*in[2], tail, "bias"));
  return ResultTypes{{x.dtype, x.shape, {}}};
}

Result<ResultTypes> infer_group_norm(OperandTypes in, const Attributes& attributes) {
  const TensorType& x = *in[0];
  STITCH_CHECK(need_floating(x, "x"));
  if (x.rank() < 2) return ill(format("group_norm's x has rank {}, at least 2 is needed", x.rank()));
  int64_t groups = attributes.integer("groups");
  if (groups < 1 || x.shape[1] % groups != 0)
    return ill(format("{} channels don't divide into {} groups", x.shape[1], groups));
  if (in[1]) STITCH_CHECK(need_shape(*in[1], {x.shape[1]}, "weight"));
  if (in[2]) STITCH_CHECK(need_shape(*in[2], {x.shape[1]}, "bias"));
  return ResultTypes{{x.dtype, x.shape, {}}};
}

// Statistics and normalisation: about five operations per element.
Cost norm_cost(OperandTypes operands, const Attributes&, const ResultTypes& results) {
  return {.flops = 5 * elements(operands[0]), .bytes = traffic(operands, results)};
}

}  // namespace

std::vector<OpInfo> normalizations() {
  constexpr auto optional = OperandSpec::optional;
  return {
      {Op::softmax,
       "softmax",
       Family::normalize,
       "e^x / sum(e^x) along dim",
       {{"x"}},
       {{"dim", int64_t{-1}}},
       infer_softmax,
       norm_cost},
      {Op::log_softmax,
       "log_softmax",
       Family::normalize,
       "x - logsumexp(x) along dim",
       {{"x"}},
       {{"dim", int64_t{-1}}},
       infer_softmax,
       norm_cost},
      {Op::batch_norm,
       "batch_norm",
       Family::normalize,
       "per channel (dim 1): training takes the batch's statistics and also returns the new running mean and "
       "variance",
       {{"x"},
        {"weight", optional},
        {"bias", optional},
        {"running_mean", optional},
        {"running_var", optional}},
       {{"training", false}, {"momentum", 0.1}, {"eps", 1e-5}},
       infer_batch_norm,
       norm_cost},
      {Op::layer_norm,
       "layer_norm",
       Family::normalize,
       "zero mean, unit variance over the last `dims` dimensions",
       {{"x"}, {"weight", optional}, {"bias", optional}},
       {{"dims", int64_t{1}}, {"eps", 1e-5}},
       infer_trailing_norm,
       norm_cost},
      {Op::group_norm,
       "group_norm",
       Family::normalize,
       "zero mean, unit variance over each group of channels (dim 1) of each sample; groups = channels is "
       "instance norm",
       {{"x"}, {"weight", optional}, {"bias", optional}},
       {{"groups", int64_t{1}, true}, {"eps", 1e-5}},
       infer_group_norm,
       norm_cost},
      {Op::rms_norm,
       "rms_norm",
       Family::normalize,
       "x / sqrt(mean(x^2) + eps) over the last `dims` dimensions",
       {{"x"}, {"weight", optional}},
       {{"dims", int64_t{1}}, {"eps", 1e-6}},
       infer_trailing_norm,
       norm_cost},
  };
}

}  // namespace stitch::ops
