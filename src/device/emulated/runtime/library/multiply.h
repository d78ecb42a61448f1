// The matrix product under all libraries.
#pragma once

#include <cstdint>

namespace stitch_emulated {

// c (m, n) = a (m, k) times b (k, n), all with rows one after the other, `c_step` elements apart in c.
// Each sum runs over k in blocks, in the same order whoever computes which rows: results do not depend on
// the number of threads. T is float, double or int32_t.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_step, const T* b, int64_t b_step, T* c,
              int64_t c_step);

}  // namespace stitch_emulated
