// Matrix products.
#include <array>
#include <cctype>

#include "base/text.h"
#include "graph/einsum.h"
#include "graph/ops/families.h"

namespace stitch {

Result<Einsum> parse_einsum(const std::string& equation) {
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return ops::ill(format("einsum's equation \"{}\" has no ->", equation));
  Einsum out{split(equation.substr(0, arrow), ','), equation.substr(arrow + 2)};
  auto all_letters = [](const std::string& word) {
    return std::ranges::all_of(word, [](unsigned char c) { return std::isalpha(c); });
  };
  std::string seen;
  for (const std::string& operand : out.operands) {
    if (!all_letters(operand))
      return ops::ill(format("einsum's equation \"{}\" has more than letters in \"{}\"", equation, operand));
    seen += operand;
  }
  for (size_t i = 0; i < out.result.size(); ++i) {
    char letter = out.result[i];
    if (seen.find(letter) == std::string::npos || out.result.find(letter, i + 1) != std::string::npos)
      return ops::ill(
          format("einsum's result \"{}\" must name letters of the operands, once each", out.result));
  }
  return out;
}

Result<std::vector<int64_t>> letter_sizes(const Einsum& einsum, const std::vector<Shape>& shapes) {
  if (shapes.size() != einsum.operands.size())
    return ops::ill(format("einsum names {} operands and has {}", einsum.operands.size(), shapes.size()));
  std::vector<int64_t> sizes(128, -1);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != einsum.operands[i].size())
      return ops::ill(
          format("einsum's \"{}\" stands for an operand of shape {}", einsum.operands[i], text(shapes[i])));
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      int64_t& size = sizes[static_cast<size_t>(einsum.operands[i][d])];
      if (size >= 0 && size != shapes[i][d])
        return ops::ill(format("einsum's '{}' is both {} and {}", einsum.operands[i][d], size, shapes[i][d]));
      size = shapes[i][d];
    }
  }
  return sizes;
}

namespace ops {

namespace {

Result<ResultTypes> infer_linear(OperandTypes in, const Attributes&) {
  const TensorType &x = *in[0], &weight = *in[1];
  STITCH_CHECK(need_same_dtype(x, weight, "the weight"));
  if (x.rank() < 1 || weight.rank() != 2 || x.shape.back() != weight.shape[1])
    return ill(format("linear of x {} and weight {}", text(x.shape), text(weight.shape)));
  if (in[2]) STITCH_CHECK(need_shape(*in[2], {weight.shape[0]}, "the bias"));
  Shape shape = x.shape;
  shape.back() = weight.shape[0];
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{x.dtype, std::move(shape), {}}};
}

Cost linear_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double products = 2 * elements(&results[0]) * static_cast<double>(in[1]->shape[1]);
  return {.flops = products + (in[2] ? elements(&results[0]) : 0),
          .matrix_flops = products,
          .bytes = traffic(in, results)};
}

// (..., m, k) x (..., k, n): the importer expands vectors.
Result<ResultTypes> infer_matmul(OperandTypes in, const Attributes&) {
  const TensorType &a = *in[0], &b = *in[1];
  STITCH_CHECK(need_same_dtype(a, b, "the second operand"));
  if (a.dtype == DType::boolean) return ill("matmul of bool");
  if (a.rank() < 2 || b.rank() < 2 || a.shape.back() != b.shape[b.shape.size() - 2])
    return ill(format("matmul of {} and {}", text(a.shape), text(b.shape)));
  STITCH_TRY(Shape shape,
             broadcast({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2}));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape.back());
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{a.dtype, std::move(shape), {}}};
}

Cost matmul_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double products = 2 * elements(&results[0]) * static_cast<double>(in[0]->shape.back());
  return {products, products, traffic(in, results)};
}

Result<ResultTypes> infer_einsum(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Einsum einsum, parse_einsum(attributes.text("equation")));
  std::vector<Shape> shapes;
  for (const TensorType* type : in) {
    STITCH_CHECK(need_same_dtype(*in[0], *type, "an operand"));
    shapes.push_back(type->shape);
  }
  STITCH_TRY(std::vector<int64_t> sizes, letter_sizes(einsum, shapes));
  Shape shape;
  for (char letter : einsum.result) shape.push_back(sizes[static_cast<size_t>(letter)]);
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

// Contracted in pairs from the left; a letter is summed after its last use.
Cost einsum_cost(OperandTypes in, const Attributes& attributes, const ResultTypes& results) {
  Cost cost{.bytes = traffic(in, results)};
  auto einsum = parse_einsum(attributes.text("equation"));
  std::vector<Shape> shapes;
  for (const TensorType* type : in) shapes.push_back(type->shape);
  auto sizes = letter_sizes(*einsum, shapes);
  std::string held = einsum->operands[0];
  for (size_t i = 1; i < einsum->operands.size(); ++i) {
    std::string together = held, needed = einsum->result;
    for (char c : einsum->operands[i])
      if (together.find(c) == std::string::npos) together += c;
    for (size_t j = i + 1; j < einsum->operands.size(); ++j) needed += einsum->operands[j];
    double products = 2;
    for (char c : together) products *= static_cast<double>((*sizes)[static_cast<size_t>(c)]);
    cost.flops += products;
    cost.matrix_flops += products;
    held.clear();
    for (char c : together)
      if (needed.find(c) != std::string::npos) held += c;
  }
  if (in.size() == 1) cost.flops = elements(in[0]);
  return cost;
}

// Groups are consecutive rows of x: group g ends before row offsets[g].
Result<ResultTypes> infer_grouped(OperandTypes in, const Attributes&) {
  const TensorType &x = *in[0], &weight = *in[1], &offsets = *in[2];
  STITCH_CHECK(need_same_dtype(x, weight, "the weight"));
  STITCH_CHECK(need_floating(x, "x"));
  STITCH_CHECK(need_integer(offsets, "the offsets"));
  if (x.rank() != 2 || weight.rank() != 3 || x.shape[1] != weight.shape[1])
    return ill(format("grouped_matmul of x {} and weight {}", text(x.shape), text(weight.shape)));
  STITCH_CHECK(need_shape(offsets, {weight.shape[0]}, "the offsets"));
  return ResultTypes{{x.dtype, {x.shape[0], weight.shape[2]}, {}}};
}

Cost grouped_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double products = 2 * elements(&results[0]) * static_cast<double>(in[0]->shape[1]);
  return {products, products, traffic(in, results)};
}

Result<void> need_square(const TensorType& type, std::string_view what) {
  STITCH_CHECK(need_floating(type, what));
  if (type.rank() >= 2 && type.shape.back() == type.shape[type.shape.size() - 2]) return {};
  return ill(format("{} has the shape {}, not square matrices", what, text(type.shape)));
}

Result<ResultTypes> infer_lu(OperandTypes in, const Attributes&) {
  STITCH_CHECK(need_square(*in[0], "x"));
  Shape rows(in[0]->shape.begin(), in[0]->shape.end() - 1);
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}, {DType::i64, rows, {}}, {DType::i64, rows, {}}};
}

Result<ResultTypes> infer_cholesky(OperandTypes in, const Attributes&) {
  STITCH_CHECK(need_square(*in[0], "x"));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_qr(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "x"));
  if (in[0]->rank() < 2) return ill(format("qr of {}", text(in[0]->shape)));
  Shape q = in[0]->shape, r = q;
  int64_t rows = q[q.size() - 2], columns = q.back(),
          kept = attributes.flag("complete") ? rows : std::min(rows, columns);
  q.back() = kept;
  r[r.size() - 2] = kept;
  return ResultTypes{{in[0]->dtype, q, {}}, {in[0]->dtype, r, {}}};
}

Result<ResultTypes> infer_triangular_solve(OperandTypes in, const Attributes&) {
  const TensorType &a = *in[0], &b = *in[1];
  STITCH_CHECK(need_square(a, "a"));
  STITCH_CHECK(need_same_dtype(a, b, "b"));
  if (b.rank() != a.rank() || !std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin()))
    return ill(format("triangular_solve of {} and {}", text(a.shape), text(b.shape)));
  return ResultTypes{{b.dtype, b.shape, {}}};
}

// About n^3 operations per matrix for any factorisation.
Cost factor_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  return {.flops = elements(in[0]) * static_cast<double>(in[0]->shape.back()), .bytes = traffic(in, results)};
}

}  // namespace

std::vector<OpInfo> linear_algebra() {
  return {
      {Op::linear,
       "linear",
       Family::linear_algebra,
       "x * weight^T + bias over the last dimension",
       {{"x"}, {"weight"}, {"bias", OperandSpec::optional}},
       {},
       infer_linear,
       linear_cost},
      {Op::matmul,
       "matmul",
       Family::linear_algebra,
       "matrix product of the last two dimensions, the others broadcast",
       {{"a"}, {"b"}},
       {},
       infer_matmul,
       matmul_cost},
      {Op::einsum,
       "einsum",
       Family::linear_algebra,
       "Einstein summation; the contraction order is the plan's",
       {{"operands", OperandSpec::variadic}},
       {{"equation", std::string(), true}},
       infer_einsum,
       einsum_cost},
      {Op::grouped_matmul,
       "grouped_matmul",
       Family::linear_algebra,
       "row i of x times weight[g], g the first group with i < offsets[g]; rows behind all groups are 0",
       {{"x"}, {"weight"}, {"offsets"}},
       {},
       infer_grouped,
       grouped_cost},
      {Op::lu,
       "lu",
       Family::linear_algebra,
       "LU with partial pivoting: both factors in one matrix, the row each step swaps with, the row of x "
       "that became each row",
       {{"x"}},
       {},
       infer_lu,
       factor_cost},
      {Op::cholesky,
       "cholesky",
       Family::linear_algebra,
       "lower L with L L^T = x, of which the lower triangle is read; NaN where x is not positive definite",
       {{"x"}},
       {},
       infer_cholesky,
       factor_cost},
      {Op::qr,
       "qr",
       Family::linear_algebra,
       "q and r by Householder reflections, with LAPACK's signs",
       {{"x"}},
       {{"complete", false}},
       infer_qr,
       factor_cost},
      {Op::triangular_solve,
       "triangular_solve",
       Family::linear_algebra,
       "x with a x = b; a is read as triangular, with ones on its diagonal if unit",
       {{"a"}, {"b"}},
       {{"upper", false}, {"unit", false}},
       infer_triangular_solve,
       factor_cost},
  };
}

}  // namespace ops
}  // namespace stitch
