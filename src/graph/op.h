// The ops. The oracle defines what each computes; the registry (ops/*.cpp) has its operands, attributes,
// shape inference and cost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/attributes.h"
#include "graph/type.h"

namespace stitch {

enum class Op : uint8_t {
  // Pointwise, one operand.
  neg,
  abs,
  sign,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sigmoid,
  erf,
  erfc,
  erfinv,
  lgamma,
  digamma,
  floor,
  ceil,
  round,
  trunc,
  relu,
  gelu,
  silu,
  mish,
  softplus,
  elu,
  leaky_relu,
  hardsigmoid,
  hardswish,
  clamp,
  is_nan,
  is_inf,
  signbit,
  logical_not,
  bitwise_not,
  cast,
  // Pointwise, several operands (broadcast).
  add,
  sub,
  mul,
  div,
  pow,
  fmod,
  remainder,
  atan2,
  minimum,
  maximum,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  where,
  // Reductions and scans.
  sum,
  mean,
  prod,
  amax,
  amin,
  any,
  all,
  argmax,
  argmin,
  logsumexp,
  norm,
  var,
  cumsum,
  cumprod,
  cummax,
  cummin,
  logcumsumexp,
  // Softmax and normalisation.
  softmax,
  log_softmax,
  batch_norm,
  layer_norm,
  group_norm,
  rms_norm,
  // Linear algebra, convolution, pooling.
  linear,
  matmul,
  einsum,
  grouped_matmul,
  lu,
  cholesky,
  qr,
  triangular_solve,
  conv,
  conv_transpose,
  max_pool,
  avg_pool,
  adaptive_max_pool,
  adaptive_avg_pool,
  resize,
  // Sequence models.
  attention,
  rnn,
  // Views and data movement.
  reshape,
  permute,
  expand,
  slice,
  strided_view,
  flip,
  roll,
  concat,
  pad,
  tril,
  triu,
  update_slice,
  // Indexing and sorting.
  gather,
  scatter,
  index,
  index_put,
  sort,
  topk,
  searchsorted,
  // Creation.
  full,
  iota,
  random,
};
inline constexpr int op_count = static_cast<int>(Op::random) + 1;

enum class Family : uint8_t {
  pointwise,
  reduce,
  scan,
  normalize,
  linear_algebra,
  convolution,
  pool,
  sequence,
  view,
  movement,
  indexing,
  create,
};
std::string_view name(Family family);

struct OperandSpec {
  std::string_view name;
  enum Kind : uint8_t { required, optional, variadic } kind = required;
};

struct AttributeSpec {
  std::string_view name;
  AttributeValue value;   // the default; its alternative is the attribute's kind
  bool required = false;  // without default
};

// The types of a node's operands; an absent optional operand is null.
using OperandTypes = std::span<const TensorType* const>;
using ResultTypes = std::vector<TensorType>;

// Lower bounds for a node alone: arithmetic, the part of it that matrix units can do, and bytes read and
// written once.
struct Cost {
  double flops = 0;
  double matrix_flops = 0;
  double bytes = 0;
  Cost& operator+=(const Cost& other);
};

struct OpInfo {
  Op op;
  std::string_view name;
  Family family;
  std::string_view doc;
  std::vector<OperandSpec> operands;
  std::vector<AttributeSpec> attributes;
  Result<ResultTypes> (*infer)(OperandTypes, const Attributes&);
  Cost (*cost)(OperandTypes, const Attributes&, const ResultTypes&);

  size_t required_operands() const;
  bool variadic() const { return !operands.empty() && operands.back().kind == OperandSpec::variadic; }
};

const OpInfo& info(Op op);
const OpInfo* find_op(std::string_view name);
std::span<const OpInfo> all_ops();

// Fills in defaults and registry order; unknown, missing and ill-typed attributes are errors.
Result<Attributes> complete(const OpInfo& info, const Attributes& given);

// numpy's broadcasting rule.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace stitch
