// Batched matrix products of either element type: what matmul and einsum come down to.
#pragma once

#include <functional>

#include "oracle/blas.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

// Where product i's operands start, counted in elements.
struct Starts {
  int64_t a, b;
};

// out (count, m, n): product i is a (m, k) times b (k, n), each row-major, from starts(i) on.
// Integers wrap to their dtype's width.
void multiply_matrices(const Tensor& a, const Tensor& b, Tensor& out, int64_t count, int64_t m, int64_t n,
                       int64_t k, bool transpose_b, const std::function<Starts(int64_t)>& starts);

}  // namespace stitch::oracle
