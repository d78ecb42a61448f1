#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(Matmul, BroadcastsBatches) {
  Tensor a = counting({2, 1, 2, 3}), b = counting({3, 3, 2});
  Tensor y = apply(Op::matmul, {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2, 2}));
  // Element (1, 2, 0, 1): row (6, 7, 8) of a, column (13, 15, 17) of b.
  EXPECT_EQ(values(y)[(1 * 3 + 2) * 4 + 1], 6 * 13 + 7 * 15 + 8 * 17);
  expect_values(apply(Op::matmul, {counting({2, 1, 2}), counting({2, 1})}), {1, 3});
  expect_values(apply(Op::matmul, {floats({2, 0}, {}), floats({0, 1}, {})}), {0, 0});
}

TEST(Matmul, IntegersWrap) {
  Tensor a = Tensor::of(DType::i8, {1, 2}, {100, 100}), b = Tensor::of(DType::i8, {2, 1}, {1, 1});
  expect_values(apply(Op::matmul, {a, b}), {-56});
}

TEST(Linear, WithAndWithoutBias) {
  Tensor x = counting({2, 1, 2}), weight = counting({3, 2}), bias = floats({3}, {10, 20, 30});
  expect_values(apply(Op::linear, {x, weight}), {1, 3, 5, 3, 13, 23});
  expect_values(apply(Op::linear, {x, weight, bias}), {11, 23, 35, 13, 33, 53});
}

Tensor einsum(const char* equation, const std::vector<Tensor>& operands) {
  return apply(Op::einsum, operands, {{"equation", std::string(equation)}});
}

TEST(Einsum, OneOperand) {
  Tensor x = counting({2, 2});
  expect_values(einsum("ij->ji", {x}), {0, 2, 1, 3});
  expect_values(einsum("ii->i", {x}), {0, 3});
  expect_values(einsum("ii->", {x}), {3});
  expect_values(einsum("ij->j", {x}), {2, 4});
}

TEST(Einsum, Contractions) {
  Tensor a = counting({2, 3}), b = counting({3, 2}), c = counting({2});
  expect_values(einsum("ij,jk->ik", {a, b}), values(apply(Op::matmul, {a, b})));
  expect_values(einsum("ij,jk,k->i", {a, b, c}), {13, 40});
  expect_values(einsum("i,j->ij", {c, c}), {0, 0, 0, 1});
  expect_values(einsum("ij,kl->i", {a, b}), {3 * 15, 12 * 15});
  expect_values(einsum("bij,bjk->bki", {counting({2, 1, 2}), counting({2, 2, 1})}), {1, 13});
  expect_values(einsum("iij,j->i", {counting({2, 2, 2}), c}), {1, 7});
  expect_values(einsum("ij,ij->", {longs({2, 2}, {1, 2, 3, 4}), longs({2, 2}, {1, 2, 3, 4})}), {30});
}

}  // namespace
}  // namespace stitch::oracle
