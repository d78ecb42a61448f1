// Attention and recurrences.
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Attention, MasksAndCausality) {
  Tensor q = floats({2, 1}, {0, 0}), k = floats({3, 1}, {1, 2, 3}), v = floats({3, 1}, {1, 2, 6});
  expect_values(apply(Op::attention, {q, k, v}, {{"scale", 1.0}}), {3, 3});
  expect_values(apply(Op::attention, {q, k, v}, {{"scale", 1.0}, {"causal", true}}), {1, 1.5});
  Tensor keep = Tensor::of(DType::boolean, {2, 3}, {1, 0, 1, 0, 0, 0});
  expect_values(apply(Op::attention, {q, k, v, keep}, {{"scale", 1.0}}), {3.5, 0});  // fully masked: zeros
  Tensor strict =
      apply(Op::attention, {q, k, v, keep}, {{"scale", 1.0}, {"weights", std::string("softmax")}});
  EXPECT_EQ(strict.data<double>()[0], 3.5);
  EXPECT_TRUE(std::isnan(strict.data<double>()[1]));
  Tensor add = floats({3}, {-inf, 0, 0});
  expect_values(apply(Op::attention, {q, k, v, add}, {{"scale", 1.0}}), {4, 4});
}

TEST(Attention, ReluWeighsScoresThemselves) {
  Tensor q = floats({2, 1}, {1, -2}), k = floats({3, 1}, {1, 2, -3}), v = floats({3, 1}, {1, 2, 6});
  Attributes relu = {{"scale", 0.5}, {"weights", std::string("relu")}};
  expect_values(apply(Op::attention, {q, k, v}, relu), {2.5, 18});
  Tensor keep = Tensor::of(DType::boolean, {3}, {0, 1, 0});
  expect_values(apply(Op::attention, {q, k, v, keep}, relu), {2, 0});
}

TEST(Attention, GroupedQueriesAndScale) {
  Tensor q = floats({4, 1, 1}, {1, 1, 1, 1}), k = floats({2, 2, 1}, {0, std::log(3.0), 0, 0});
  Tensor v = floats({2, 2, 1}, {0, 4, 1, 3});
  expect_values(apply(Op::attention, {q, k, v}, {{"scale", 1.0}}), {3, 3, 2, 2});
  expect_values(apply(Op::attention, {q, k, v}, {{"scale", 0.0}}), {2, 2, 2, 2});
}

TEST(Rnn, PlainBothWays) {
  Tensor x = floats({2, 1, 1}, {1, 2}), h0 = floats({2, 1, 1}, {0, 0}), w = floats({1, 1}, {1}),
         b = floats({1}, {0});
  Tensor none = floats({1}, {10});
  std::vector<const Tensor*> operands = {&x, &h0, nullptr, &w, &w, &b, &b, &w, &w, &b, &none};
  auto results = try_apply(Op::rnn, operands, {{"kind", std::string("relu")}, {"bidirectional", true}});
  ASSERT_TRUE(results) << results.error().text();
  expect_values((*results)[0], {1, 23, 3, 12});  // the second direction starts at the end, with a bias of 10
  expect_values((*results)[1], {3, 23});
}

TEST(Rnn, GruResetsAfterTheProduct) {
  Tensor x = floats({1, 1, 1}, {1}), h0 = floats({1, 1, 1}, {0.5});
  Tensor wi = floats({3, 1}, {0.1, 0.2, 0.3}), wh = floats({3, 1}, {0.4, 0.5, 0.6});
  Tensor bi = floats({3}, {0, 0, 0}), bh = floats({3}, {0, 0, 0.7});
  auto results = try_apply(Op::rnn, {&x, &h0, nullptr, &wi, &wh, &bi, &bh}, {{"kind", std::string("gru")}});
  ASSERT_TRUE(results) << results.error().text();
  double reset = sigmoid(0.1 + 0.2), update = sigmoid(0.2 + 0.25);
  double fresh = std::tanh(0.3 + reset * (0.3 + 0.7));
  expect_values((*results)[0], {(1 - update) * fresh + update * 0.5});
}

TEST(Rnn, LstmWithProjection) {
  Tensor x = floats({1, 1, 1}, {1}), h0 = floats({1, 1, 1}, {0}), c0 = floats({1, 1, 2}, {1, 2});
  Tensor wi = floats({8, 1}, {0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4}), wh = floats({8, 1}, Numbers(8, 0));
  Tensor wp = floats({1, 2}, {1, 10});
  auto results = apply_all(
      Op::rnn, {x, h0, c0, wi, wh, wp},
      {{"kind", std::string("lstm")}, {"biases", false}, {"projection", int64_t{1}}, {"batch_first", true}});
  auto cell = [](double before) { return sigmoid(0.2) * before + sigmoid(0.1) * std::tanh(0.3); };
  double a = sigmoid(0.4) * std::tanh(cell(1)), b = sigmoid(0.4) * std::tanh(cell(2));
  expect_values(results[0], {a + 10 * b});
  expect_values(results[1], {a + 10 * b});
  expect_values(results[2], {cell(1), cell(2)});
}

}  // namespace
}  // namespace stitch::oracle
