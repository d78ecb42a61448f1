// Batched matrix products for floats and integers, used by matmul and einsum.
#pragma once

#include <functional>

#include "oracle/blas.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

// Element offsets of product i's operands.
struct Starts {
  int64_t a, b;
};

// out (count, m, n): product i is a (m, k) times b (k, n), row-major, at starts(i). Integers wrap to their
// dtype's width.
void multiply_matrices(const Tensor& a, const Tensor& b, Tensor& out, int64_t count, int64_t m, int64_t n,
                       int64_t k, bool transpose_b, const std::function<Starts(int64_t)>& starts);

}  // namespace stitch::oracle
