#include <array>

#include "oracle/blas.h"

#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

// Every transposition, odd sizes around the blocks' edges, wide strides, alpha and beta.
TEST(Gemm, EveryLibraryEqualsThePlainLoop) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 7}, {4, 8, 256}, {129, 31, 65}, {130, 259, 300}})
    for (int form = 0; form < 4; ++form)
      for (double beta : {0.0, 0.5}) {
        Gemm shape{.m = m, .n = n, .k = k, .transpose_a = form % 2 == 1, .transpose_b = form / 2 == 1};
        shape.stride_a = (shape.transpose_a ? m : k) + 2;
        shape.stride_b = (shape.transpose_b ? k : n) + 1;
        shape.stride_c = n + 3;
        shape.alpha = 1.5;
        shape.beta = beta;
        Tensor a = apply(Op::sin, {counting({std::max(m, k) * (std::max(m, k) + 2)})});
        Tensor b = apply(Op::cos, {counting({std::max(n, k) * (std::max(n, k) + 1)})});
        const double *x = a.data<double>(), *y = b.data<double>();
        std::vector<double> plain(static_cast<size_t>(m * shape.stride_c), 2), ours = plain, library = plain;
        if (beta == 0) ours.assign(ours.size(), nan), library = ours;  // must not be read
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum += x[shape.transpose_a ? p * shape.stride_a + i : i * shape.stride_a + p] *
                     y[shape.transpose_b ? j * shape.stride_b + p : p * shape.stride_b + j];
            double& to = plain[static_cast<size_t>(i * shape.stride_c + j)];
            to = 1.5 * sum + (beta == 0 ? 0 : beta * to);
          }
        blocked_gemm(shape, x, y, ours.data());
        gemm(shape, x, y, library.data());
        double worst = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            size_t at = static_cast<size_t>(i * shape.stride_c + j);
            worst = std::max({worst, std::fabs(ours[at] - plain[at]), std::fabs(library[at] - plain[at])});
            EXPECT_FALSE(std::isnan(ours[at]) || std::isnan(library[at]));
          }
        EXPECT_LT(worst, 1e-11) << m << " " << n << " " << k << " form " << form;
      }
}

TEST(Gemm, NothingToSumIsZero) {
  std::vector<double> c(6, nan);
  gemm({.m = 2, .n = 3, .k = 0, .stride_c = 3}, nullptr, nullptr, c.data());
  EXPECT_EQ(c, std::vector<double>(6, 0));
}

TEST(Gemm, LibraryCanBeChosen) {
  GemmLibrary before = gemm_library();
  use_gemm_library(GemmLibrary::blocked);
  EXPECT_EQ(gemm_library(), GemmLibrary::blocked);
  expect_values(apply(Op::matmul, {counting({2, 2}), counting({2, 2})}), {2, 3, 6, 11});
  use_gemm_library(before);
}

TEST(Gemm, Batched) {
  Tensor a = counting({5, 2, 2}), b = counting({5, 2, 2}, 1);
  std::vector<double> c(20);
  Gemm shape{.m = 2, .n = 2, .k = 2, .stride_a = 2, .stride_b = 2, .stride_c = 2};
  batched_gemm(shape, 5, [&](int64_t i) {
    return GemmOperands{a.data<double>() + 4 * i, b.data<double>() + 4 * i, c.data() + 4 * i};
  });
  EXPECT_EQ(c[0], 3);                   // 0*1 + 1*3
  EXPECT_EQ(c[19], 19 * 20 + 18 * 18);  // 18*18 + 19*20
}

}  // namespace
}  // namespace stitch::oracle
