#include <gtest/gtest.h>

#include <limits>

#include "oracle/tensor.h"
#include "reference/reference.h"

namespace stitch::verifier {

namespace {

void add(Tensors& tensors, DType dtype, const std::vector<double>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  tensors.add({dtype, shape, {}}, oracle::Tensor::of(dtype, shape, values).to_bytes());
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

// One output that rounds the wrong way says nothing about those beside it.
TEST(Domain, IsJudgedOutputByOutput) {
  Trial trial{.question = {.distribution = std::string(harsh::whole_numbers)}};
  add(trial.truth, DType::f64, {1, 2, 3});
  add(trial.truth, DType::f64, {1, 2, 3});
  add(trial.truth, DType::i64, {1, 2, 3});
  add(trial.truth, DType::i64, {1, 2, 3});
  add(trial.pytorch, DType::f32, {1, 2, 4});
  add(trial.pytorch, DType::f32, {1, 2, 3});
  add(trial.pytorch, DType::i64, {1, 2, 3});
  add(trial.pytorch, DType::i64, {1, 2, 4});
  settle(trial);
  EXPECT_TRUE(trial.in_domain);
  EXPECT_EQ(trial.unsound, (std::vector<bool>{true, false, false, true}));
  EXPECT_FALSE(proves(trial, 0));
  EXPECT_TRUE(proves(trial, 1));
}

TEST(Domain, EndsWhereNothingIsFinite) {
  Trial trial{.question = {.distribution = "normal"}};
  add(trial.truth, DType::f64, {1, infinity});
  add(trial.pytorch, DType::f32, {1, infinity});
  settle(trial);
  EXPECT_FALSE(trial.in_domain);
  trial.question.distribution = "task";
  settle(trial);
  EXPECT_TRUE(trial.in_domain) << "the task draws such inputs itself";
}

TEST(Domain, LeavesOutWhatOverflowsInPyTorchAlone) {
  Trial trial{.question = {.weights = Weights::reparameterised}};
  add(trial.truth, DType::f64, {1, 1e6});
  add(trial.truth, DType::f64, {1, 2});
  add(trial.pytorch, DType::f16, {1, infinity});
  add(trial.pytorch, DType::f16, {1, 2});
  settle(trial);
  EXPECT_TRUE(trial.in_domain);
  EXPECT_EQ(trial.unsound, (std::vector<bool>{true, false}));
}

}  // namespace stitch::verifier
