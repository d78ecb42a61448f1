#include "reference/numerics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "reference/reference.h"
#include "reference/trial.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

template <class T>
Tensors make(DType dtype, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  Tensors out;
  out.add({dtype, {static_cast<int64_t>(values.size())}, {}}, std::move(bytes));
  return out;
}
Tensors floats(const std::vector<float>& values) { return make(DType::f32, values); }
Tensors truths(const std::vector<double>& values) { return make(DType::f64, values); }

Comparison judged(const Tensors& values, const Tensors& truth, const Tensors* pytorch = nullptr) {
  return compare(values[0], truth[0], pytorch ? &(*pytorch)[0] : nullptr, {});
}

}  // namespace

TEST(Numerics, DistanceIsTheL2Norm) {
  Distance d = distance(floats({3, 4, 1})[0], truths({0, 0, 1})[0]);
  EXPECT_DOUBLE_EQ(d.error, 5);
  EXPECT_DOUBLE_EQ(d.truth, 1);
  EXPECT_DOUBLE_EQ(d.largest, 4);
  EXPECT_EQ(d.worst, 1);
}

TEST(Numerics, LongTensorsAreTheSumOfTheirStretches) {
  std::vector<float> values(200'000, 1.f);
  std::vector<double> truth(200'000, 1.0);
  values[150'000] = 2;
  values[199'999] = 4;
  Distance d = distance(floats(values)[0], truths(truth)[0]);
  EXPECT_DOUBLE_EQ(d.error, std::sqrt(10.0));
  EXPECT_EQ(d.worst, 199'999);
}

// A logit whose bias is next to nothing, behind layers that hand on next to nothing.
TEST(Numerics, WhereBiasesPrevailASmallColumnHasTenBitsOfTheOthers) {
  constexpr int64_t rows = 8, columns = 4, faint = 3;
  std::vector<float> values(rows * columns, 1.f);
  std::vector<double> truth(rows * columns, 1.0);
  for (int64_t row = 0; row < rows; ++row) {
    truth[static_cast<size_t>(row * columns + faint)] = 1e-4;
    values[static_cast<size_t>(row * columns + faint)] = 1.4e-4F;
  }
  Tensors got, exact;
  const Tensors flat_values = floats(values), flat_truth = truths(truth);
  got.add({{DType::f32, {rows, columns}, {}}, flat_values[0].bytes}, flat_values.owners[0]);
  exact.add({{DType::f64, {rows, columns}, {}}, flat_truth[0].bytes}, flat_truth.owners[0]);
  Judging judging{.floor = 1e-3};
  EXPECT_FALSE(compare(got[0], exact[0], &exact[0], judging).passed);
  judging.biases_prevail = true;
  EXPECT_TRUE(compare(got[0], exact[0], &exact[0], judging).passed);
}

TEST(Numerics, PyTorchMayHaveBeenLucky) {
  const Tensors truth = truths({1, 1}), near = floats({1.00005f, 1.f}), lucky = floats({1.00001f, 1.f}),
                far = floats({1.01f, 1.f});
  EXPECT_TRUE(may_be_luck(judged(near, truth, &lucky)));
  EXPECT_FALSE(may_be_luck(judged(far, truth, &lucky))) << "by far more than luck";
  EXPECT_FALSE(may_be_luck(judged(lucky, truth, &lucky))) << "it passed";
  EXPECT_FALSE(may_be_luck(judged(near, truth))) << "nobody to be lucky";

  const Distance here = distance(lucky[0], truth[0]);
  auto beside = [&](const Distance& elsewhere) {
    const Distance pytorch = no_better_than(here, elsewhere);
    return compare(near[0], truth[0], &lucky[0], {}, &pytorch).passed;
  };
  EXPECT_FALSE(beside(here));
  EXPECT_TRUE(beside({.error = 3e-4, .truth = 10, .largest = 1e-4, .elements = 2}));
  EXPECT_LE(no_better_than(here, {.error = 5, .truth = 1, .largest = 5, .elements = 2}).relative(), 0.1);
}

TEST(Numerics, MeansAreMeasuredByTheDeviationBesideThem) {
  // Means of what was normalised before are nothing but rounding.
  const Tensors means = truths({1e-18, -1e-18, 1e-18, 1e-18}), variances = truths({1, 1, 1, 1});
  const double unit = least_truth_of_means(distance(variances[0], variances[0]));
  EXPECT_DOUBLE_EQ(unit, 2);
  auto judged_as_mean = [&](const std::vector<float>& values) {
    return compare(floats(values)[0], means[0], nullptr, {.least_truth = unit}).passed;
  };
  EXPECT_TRUE(judged_as_mean({1e-9f, 2e-9f, 0, 0}));
  EXPECT_FALSE(judged_as_mean({1e-3f, 0, 0, 0}));
}

TEST(Numerics, NaNNeverPasses) {
  EXPECT_FALSE(judged(floats({1, static_cast<float>(nan)}), truths({1, 2})).passed);
  EXPECT_FALSE(judged(floats({1, static_cast<float>(inf)}), truths({1, 2})).passed);
  EXPECT_FALSE(judged(floats({1, 2}), truths({1, nan})).passed);
  EXPECT_TRUE(judged(floats({1, static_cast<float>(nan)}), truths({1, nan})).passed);
  EXPECT_TRUE(judged(floats({1, static_cast<float>(-inf)}), truths({1, -inf})).passed);
  EXPECT_FALSE(judged(floats({1, static_cast<float>(inf)}), truths({1, -inf})).passed);
}

TEST(Numerics, TheBudgetIsTwicePyTorchs) {
  Tensors truth = truths({1, 1, 1, 1}), pytorch = floats({1.001f, 1.001f, 1.001f, 1.001f});
  EXPECT_TRUE(judged(floats({1.0019f, 1.0019f, 1.0019f, 1.0019f}), truth, &pytorch).passed);
  EXPECT_FALSE(judged(floats({1.0021f, 1.0021f, 1.0021f, 1.0021f}), truth, &pytorch).passed);
  EXPECT_FALSE(judged(floats({1.0001f, 1.0001f, 1.0001f, 1.0001f}), truth).passed) << "without PyTorch: 1e-5";
}

// In a long tensor one wrong element disappears from the norm.
TEST(Numerics, OneWrongElementIsSeen) {
  std::vector<float> values(1'000'000, 1.f), pytorch(1'000'000, 1.0001f);
  std::vector<double> truth(1'000'000, 1.0);
  Tensors theirs = floats(pytorch);
  values[77] = 1.1f;
  Comparison comparison = judged(floats(values), truths(truth), &theirs);
  EXPECT_LT(comparison.own.relative(), comparison.budget);
  EXPECT_FALSE(comparison.passed);
  EXPECT_NE(comparison.reason.find("[77]"), std::string::npos) << comparison.reason;
}

// Rows of a millionth of the others' size are nothing in the norm of all.
TEST(Numerics, SmallRowsHaveToBeRightByThemselves) {
  constexpr int64_t rows = 6, columns = 40;
  std::vector<double> truth;
  for (int64_t i = 0; i < rows * columns; ++i)
    truth.push_back((1 + 0.1 * std::sin(static_cast<double>(i))) * (i / columns == 4 ? 1e-6 : 1));
  auto matrix = [](DType dtype, const auto& values) {
    Tensors out = make(dtype, values);
    out.tensors[0].type.shape = {rows, columns};
    return out;
  };
  const std::vector<float> right(truth.begin(), truth.end());
  std::vector<float> without = right, noisy = right;
  for (int64_t i = 4 * columns; i < 5 * columns; ++i) {
    without[static_cast<size_t>(i)] = 0;
    noisy[static_cast<size_t>(i)] += 1e-7f;  // what rounding leaves where large numbers cancel
  }
  const Tensors exact = matrix(DType::f64, truth), pytorch = matrix(DType::f32, right);
  EXPECT_TRUE(judged(matrix(DType::f32, right), exact, &pytorch).passed);
  // One draw doesn't tell which it is: an honest program's errors on another one do.
  const Comparison unsure = judged(matrix(DType::f32, noisy), exact, &pytorch);
  EXPECT_TRUE(unsure.passed);
  ASSERT_EQ(unsure.unsure.size(), 1u);
  EXPECT_EQ(unsure.unsure[0].index, 4);
  EXPECT_TRUE(judged(matrix(DType::f32, right), exact, &pytorch).unsure.empty());
  EXPECT_TRUE(is_rounding(unsure.unsure[0], matrix(DType::f32, noisy)[0], exact[0]));
  EXPECT_FALSE(is_rounding(unsure.unsure[0], pytorch[0], exact[0]));
  const Comparison comparison = judged(matrix(DType::f32, without), exact, &pytorch);
  EXPECT_LT(comparison.own.relative(), comparison.budget);
  EXPECT_FALSE(comparison.passed);
  EXPECT_NE(comparison.reason.find("index 4 of dimension 0"), std::string::npos) << comparison.reason;
}

// Logits of samples that are nearly alike: errors of a column go together, and PyTorch's are small in one by
// chance.
TEST(Numerics, ASmallColumnMayHaveTheErrorsOfTheOthers) {
  constexpr int64_t rows = 16, columns = 50;
  std::vector<double> truth;
  std::vector<float> ours, theirs, zeroed;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t column = i % columns;
    const double scale = column == 7 ? 1e-2 : 1, sign = column % 2 ? 1 : -1;
    truth.push_back(scale);
    ours.push_back(static_cast<float>(scale + sign * 3e-4));
    theirs.push_back(static_cast<float>(scale + (column == 7 ? 1e-7 : sign * 2e-4)));
    zeroed.push_back(column == 7 ? 0.f : ours.back());
  }
  auto matrix = [](DType dtype, const auto& values) {
    Tensors out = make(dtype, values);
    out.tensors[0].type.shape = {rows, columns};
    return out;
  };
  const Tensors exact = matrix(DType::f64, truth), pytorch = matrix(DType::f32, theirs);
  const Comparison honest = judged(matrix(DType::f32, ours), exact, &pytorch);
  EXPECT_TRUE(honest.passed) << honest.reason;
  EXPECT_FALSE(judged(matrix(DType::f32, zeroed), exact, &pytorch).passed);
}

// What is large has a rounding error of its own size, however small the others are.
TEST(Numerics, LargeElementsAmongTinyOnesMayRound) {
  std::vector<double> truth(40'000, 1e-9);
  for (size_t i = 0; i < truth.size(); i += 10'000) truth[i] = 1;
  std::vector<float> values(truth.begin(), truth.end());
  values[10'000] += 1.2e-5f;
  EXPECT_TRUE(judged(floats(values), truths(truth)).passed);
  values[10'000] -= 1.2e-5f;
  values[10'001] += 1.2e-5f;
  EXPECT_FALSE(judged(floats(values), truths(truth)).passed);
}

TEST(Numerics, ANumberInPlaceOfNaNIsNoted) {
  const Judging of_not_finite{.not_finite = NotFinite::any};
  const Comparison lost = compare(floats({1, 0})[0], truths({1, nan})[0], nullptr, of_not_finite);
  EXPECT_TRUE(lost.passed);
  EXPECT_EQ(lost.own.nan_lost, 1);
  EXPECT_FALSE(compare(floats({1, 0})[0], truths({1, inf})[0], nullptr, of_not_finite).passed);
  const Judging of_lost{.not_finite = NotFinite::nan_may_be_lost};
  EXPECT_TRUE(compare(floats({1, 0})[0], truths({1, nan})[0], nullptr, of_lost).passed);
  EXPECT_FALSE(
      compare(floats({1, static_cast<float>(nan)})[0], truths({1, inf})[0], nullptr, of_lost).passed);
  EXPECT_FALSE(
      compare(floats({1, static_cast<float>(nan)})[0], truths({1, 2})[0], nullptr, of_not_finite).passed);
}

TEST(Numerics, WhatCancelsIsMeasuredByPyTorchsResidue) {
  Tensors truth = truths({0, 0}), pytorch = floats({4e-11f, -4e-11f});
  EXPECT_TRUE(judged(floats({5e-11f, 1e-11f}), truth, &pytorch).passed);
  EXPECT_FALSE(judged(floats({5e-9f, 1e-11f}), truth, &pytorch).passed);
  EXPECT_TRUE(judged(floats({0, 0}), truths({0, 0})).passed);
}

// What a network in fp16 gives for eight samples of ten classes, the first of them all NaN.
TEST(Numerics, WhereverPyTorchOverflowsNothingIsDividedByIt) {
  constexpr int64_t rows = 8, columns = 10;
  auto matrix = [](DType dtype, const auto& values) {
    Tensors out = make(dtype, values);
    out.tensors[0].type.shape = {rows, columns};
    return out;
  };
  std::vector<double> truth;
  std::vector<float> theirs, ours, wrong;
  for (int64_t i = 0; i < rows * columns; ++i) {
    truth.push_back(1 + static_cast<double>(i % 7));
    const float near = static_cast<float>(truth.back() * 1.0005);
    theirs.push_back(i < columns ? static_cast<float>(nan) : near);
    ours.push_back(near);
    wrong.push_back(i == 37 ? 0 : near);
  }
  const Tensors exact = matrix(DType::f64, truth), pytorch = matrix(DType::f32, theirs);
  EXPECT_TRUE(judged(matrix(DType::f32, theirs), exact, &pytorch).passed) << "as PyTorch";
  EXPECT_TRUE(judged(matrix(DType::f32, ours), exact, &pytorch).passed) << "without overflowing";
  EXPECT_FALSE(judged(matrix(DType::f32, wrong), exact, &pytorch).passed) << "wrong beside it";
  EXPECT_FALSE(distance(pytorch[0], exact[0]).says_nothing());
  // As many, the first of them in the same place, and another where PyTorch is finite.
  std::vector<float> elsewhere = theirs;
  elsewhere[1] = static_cast<float>(truth[1]);
  elsewhere[40] = static_cast<float>(inf);
  const Comparison bad = judged(matrix(DType::f32, elsewhere), exact, &pytorch);
  EXPECT_FALSE(bad.passed);
  EXPECT_EQ(bad.own.not_finite, 1);
  EXPECT_EQ(bad.own.first_bad, 40);
}

TEST(Numerics, WherePyTorchIsFiniteNowhereNothingIsProved) {
  const auto not_a_number = static_cast<float>(nan);
  const Tensors truth = truths({1, 2, 3}), pytorch = floats({not_a_number, not_a_number, not_a_number});
  EXPECT_TRUE(distance(pytorch[0], truth[0]).says_nothing());
  EXPECT_TRUE(judged(pytorch, truth, &pytorch).passed);
  EXPECT_TRUE(judged(floats({1.001f, 2, 3}), truth, &pytorch).passed) << "as near as halves are";
  EXPECT_FALSE(judged(floats({1, 2, 0}), truth, &pytorch).passed) << "not just anything";

  Trial trial{.truth = truth, .pytorch = pytorch};
  EXPECT_FALSE(proves(trial, 0));
  EXPECT_FALSE(overflows(trial)) << "the task's own inputs and weights";
  trial.question.weights = Weights::reparameterised;
  EXPECT_TRUE(overflows(trial));
  trial.question.distribution = harsh::not_finite;
  EXPECT_FALSE(overflows(trial));
  EXPECT_FALSE(proves({.truth = truths({nan, nan})}, 0));
  EXPECT_TRUE(proves({.truth = truths({nan, 1})}, 0));
  EXPECT_TRUE(proves({.truth = truths({})}, 0));
}

TEST(Numerics, IntegersAreExactOrPyTorchs) {
  Tensors truth = make<int64_t>(DType::i64, {1, 2, 3}), pytorch = make<int64_t>(DType::i64, {1, 5, 3});
  EXPECT_TRUE(judged(make<int64_t>(DType::i64, {1, 2, 3}), truth).passed);
  EXPECT_FALSE(judged(make<int64_t>(DType::i64, {1, 5, 3}), truth).passed);
  EXPECT_TRUE(judged(make<int64_t>(DType::i64, {1, 5, 3}), truth, &pytorch).passed)
      << "a tie, broken as PyTorch does";
  EXPECT_FALSE(judged(make<int64_t>(DType::i64, {4, 5, 3}), truth, &pytorch).passed);
}

TEST(Numerics, KernelBenchsAllclose) {
  EXPECT_TRUE(kernelbench_allclose(floats({1.00015f})[0], floats({1.f})[0], 1e-4).passed);
  EXPECT_FALSE(kernelbench_allclose(floats({1.0003f})[0], floats({1.f})[0], 1e-4).passed);
  EXPECT_FALSE(
      kernelbench_allclose(floats({static_cast<float>(nan)})[0], floats({static_cast<float>(nan)})[0], 1e-4)
          .passed);
}

}  // namespace stitch::verifier
