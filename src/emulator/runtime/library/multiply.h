// The matrix product used by all libraries.
#pragma once

#include <cstdint>

namespace stitch_emulated {

// c (m, n) = a (m, k) times b (k, n), row-major, rows of c `c_step` elements apart. Sums run over k in blocks
// in a fixed order, so results don't depend on the number of threads. T is float, double or int32_t.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
              int64_t c_step);

}  // namespace stitch_emulated
