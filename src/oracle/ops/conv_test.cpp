#include <array>

#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

Attributes window(Ints stride, Ints padding, Ints dilation, int64_t groups = 1) {
  return {{"stride", std::move(stride)},
          {"padding", std::move(padding)},
          {"dilation", std::move(dilation)},
          {"groups", groups}};
}

// The definition, element by element, in two dimensions.
Numbers plain_conv(const Tensor& x, const Tensor& w, const Shape& out, int64_t stride, int64_t padding,
                   int64_t dilation, int64_t groups) {
  Numbers y, a = values(x), b = values(w);
  const Shape &s = x.shape(), &f = w.shape();
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t o = 0; o < out[1]; ++o)
      for (int64_t i = 0; i < out[2]; ++i)
        for (int64_t j = 0; j < out[3]; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < f[1]; ++c)
            for (int64_t p = 0; p < f[2]; ++p)
              for (int64_t q = 0; q < f[3]; ++q) {
                int64_t row = i * stride - padding + p * dilation,
                        column = j * stride - padding + q * dilation;
                if (row < 0 || row >= s[2] || column < 0 || column >= s[3]) continue;
                int64_t channel = o / (f[0] / groups) * f[1] + c;
                sum += a[static_cast<size_t>(((n * s[1] + channel) * s[2] + row) * s[3] + column)] *
                       b[static_cast<size_t>(((o * f[1] + c) * f[2] + p) * f[3] + q)];
              }
          y.push_back(sum);
        }
  return y;
}

TEST(Conv, EqualsItsDefinition) {
  for (auto [channels, filters, groups] : {std::array<int64_t, 3>{4, 6, 1}, {4, 6, 2}, {4, 8, 4}})
    for (int64_t size : {1, 3})
      for (int64_t stride : {1, 2})
        for (int64_t padding : {0, 2})
          for (int64_t dilation : {1, 2}) {
            Tensor x = apply(Op::sin, {counting({2, channels, 7, 6})});
            Tensor w = apply(Op::cos, {counting({filters, channels / groups, size, size})});
            Tensor y = apply(Op::conv, {x, w},
                             window({stride, stride}, {padding, padding}, {dilation, dilation}, groups));
            expect_values(y, plain_conv(x, w, y.shape(), stride, padding, dilation, groups));
          }
}

TEST(Conv, BiasAndOtherRanks) {
  expect_values(apply(Op::conv, {counting({1, 1, 4}), floats({2, 1, 2}, {1, 1, 0, 1}), floats({2}, {10, 20})},
                      window({1}, {0}, {1})),
                {11, 13, 15, 21, 22, 23});
  expect_values(apply(Op::conv, {counting({1, 1, 2, 2, 2}), floats({1, 1, 2, 2, 2}, Numbers(8, 1))},
                      window({1, 1, 1}, {0, 0, 0}, {1, 1, 1})),
                {28});
}

// <conv(x), y> == <x, conv_transpose(y)> with the same weight: one is the other's transpose.
TEST(ConvTranspose, IsTheTranspose) {
  for (int64_t groups : {1, 2, 4})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2}) {
        Tensor x = apply(Op::sin, {counting({2, 4, 9, 8})});
        Tensor w = apply(Op::cos, {counting({8, 4 / groups, 3, 2})});
        Attributes attributes = window({stride, stride}, {1, 1}, {dilation, dilation}, groups);
        Tensor forward = apply(Op::conv, {x, w}, attributes);
        Tensor y = apply(Op::sin, {counting(forward.shape(), 0.5, 0.7)});
        Ints extra;
        for (size_t d : {2, 3})
          extra.push_back(x.shape()[d] -
                          ((y.shape()[d] - 1) * stride - 2 + dilation * (w.shape()[d] - 1) + 1));
        attributes.set("output_padding", extra);
        Tensor backward = apply(Op::conv_transpose, {y, w}, attributes);
        ASSERT_EQ(backward.shape(), x.shape());
        double one = values(apply(Op::sum, {apply(Op::mul, {forward, y})}))[0];
        double other = values(apply(Op::sum, {apply(Op::mul, {x, backward})}))[0];
        EXPECT_NEAR(one, other, 1e-10);
      }
}

TEST(ConvTranspose, SmallCase) {
  Attributes attributes = window({2}, {0}, {1});
  attributes.set("output_padding", Ints{1});
  expect_values(
      apply(Op::conv_transpose,
            {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 10, 100}), floats({1}, {5})}, attributes),
      {6, 15, 107, 25, 205, 5});
}

}  // namespace

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
