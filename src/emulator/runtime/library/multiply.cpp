#include "library/multiply.h"

#include <algorithm>

namespace stitch_emulated {

namespace {

// A block's sums stay in registers; its panel of b (k_block x width) stays in L1.
constexpr int64_t height = 4, width = 16, k_block = 256;

template <class T, int64_t Rows>
void block(int64_t k, const T* a, int64_t a_step, const T* panel, T* c, int64_t c_step, int64_t columns) {
  T sums[Rows][width] = {};
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t r = 0; r < Rows; ++r) {
      const T factor = a[r * a_step + p];
      for (int64_t j = 0; j < width; ++j) sums[r][j] += factor * panel[p * width + j];
    }
  }
  for (int64_t r = 0; r < Rows; ++r)
    for (int64_t j = 0; j < columns; ++j) c[r * c_step + j] += sums[r][j];
}

}  // namespace

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
              int64_t c_step) {
  for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_step, n, T{});
  T panel[k_block * width];
  for (int64_t k0 = 0; k0 < k; k0 += k_block) {
    const int64_t depth = std::min(k_block, k - k0);
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t columns = std::min(width, n - j0);
      for (int64_t p = 0; p < depth; ++p) {
        const T* row = b + (k0 + p) * b_step + j0;
        for (int64_t j = 0; j < width; ++j) panel[p * width + j] = j < columns ? row[j] : T{};
      }
      int64_t i = 0;
      for (; i + height <= m; i += height)
        block<T, height>(depth, a + i * a_step + k0, a_step, panel, c + i * c_step + j0, c_step, columns);
      for (; i < m; ++i)
        block<T, 1>(depth, a + i * a_step + k0, a_step, panel, c + i * c_step + j0, c_step, columns);
    }
  }
}

template void multiply(int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t, float*,
                       int64_t);
template void multiply(int64_t, int64_t, int64_t, const double*, int64_t, const double*, int64_t, double*,
                       int64_t);
template void multiply(int64_t, int64_t, int64_t, const int32_t*, int64_t, const int32_t*, int64_t, int32_t*,
                       int64_t);

}  // namespace stitch_emulated
