#include "reference/inputs/fade.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <algorithm>
#include <cmath>

namespace stitch::verifier {

// However few rows there are, one of them is zeros, one along each dimension; and none is below the faintest.
TEST(Faded, HasARowOfZerosAlongEachDimension) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const oracle::Tensor ones = oracle::Tensor::of(DType::f32, {2, 3, 5}, std::vector<double>(30, 1));
    const oracle::Tensor tensor = faded(ones, {.faintest = 1e-12, .zeros = true, .seed = seed});
    const double* values = tensor.data<double>();
    bool rows[2] = {true, true}, columns[3] = {true, true, true};
    for (int i = 0; i < 30; ++i) {
      rows[i / 15] &= values[i] == 0;
      columns[i / 5 % 3] &= values[i] == 0;
      EXPECT_TRUE(values[i] == 0 || (values[i] >= 1e-12 && values[i] <= 1)) << values[i];
    }
    EXPECT_TRUE(rows[0] || rows[1]);
    EXPECT_TRUE(std::ranges::any_of(columns, [](bool zero) { return zero; }));
  }
}

// Of four rows one is as faint as can be: any larger epsilon changes what is made of it.
TEST(Faded, HasARowThatIsAsFaintAsCanBe) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const oracle::Tensor ones = oracle::Tensor::of(DType::f32, {4, 1}, std::vector<double>(4, 1));
    const oracle::Tensor tensor = faded(ones, {.faintest = 1e-12, .zeros = seed % 2 == 0, .seed = seed});
    EXPECT_EQ(std::count(tensor.data<double>(), tensor.data<double>() + 4, 1e-12), 1) << seed;
  }
}

// Many rows have sizes of every order, so that some are near any epsilon.
TEST(Faded, SizesAreSpreadEvenly) {
  const oracle::Tensor ones = oracle::Tensor::of(DType::f32, {64, 1}, std::vector<double>(64, 1));
  const oracle::Tensor tensor = faded(ones, {.faintest = 1e-12, .seed = 7});
  for (double low = 1e-12; low < 0.1; low *= 1e3) {
    int near = 0;
    for (int i = 0; i < 64; ++i)
      near += tensor.data<double>()[i] >= low && tensor.data<double>()[i] < low * 1e3;
    EXPECT_GE(near, 4) << low;
  }
}

// Every fourth row stays as it is; of the others the first have it at their end.
TEST(Extremes, AreAtTheEndsOfRows) {
  oracle::Tensor flat(DType::f32, {8, 40});
  std::ranges::fill_n(flat.writable<double>(), 8 * 40, 0.0);
  const oracle::Tensor ends = with_extremes(flat, Extremes::ends, 3),
                       low = with_extremes(flat, Extremes::low, 3);
  const double* values = ends.data<double>();
  EXPECT_GE(values[39], 100);
  EXPECT_GE(values[2 * 40], 100);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(values[3 * 40 + i], 0);
  for (int i = 0; i < 8 * 40; ++i) EXPECT_LE(low.data<double>()[i], -100);
}

}  // namespace stitch::verifier
