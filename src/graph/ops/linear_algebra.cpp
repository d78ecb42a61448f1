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

// (..., m, k) x (..., k, n): the importer has given vectors their second dimension.
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

// Contracted in pairs from the left, a letter summed as soon as nobody needs it any more.
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
  };
}

}  // namespace ops
}  // namespace stitch
