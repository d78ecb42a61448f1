// Batched matrix products for floats and integers, used by matmul and einsum.
#pragma once

#include <cstdint>
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

// Pairwise sums: the error grows with the logarithm of the count.
template <class Term>
double sum_between(int64_t begin, int64_t end, const Term& term) {
  if (end - begin > 512) {
    int64_t middle = begin + (end - begin) / 2;
    return sum_between(begin, middle, term) + sum_between(middle, end, term);
  }
  // Four chains, for instruction-level parallelism.
  double sums[4] = {};
  int64_t i = begin;
  for (; i + 4 <= end; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane) sums[lane] += term(i + lane);
  for (; i < end; ++i) sums[0] += term(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// term(0) + ... + term(count - 1)
template <class Term>
double sum_of(int64_t count, const Term& term) {
  return sum_between(0, count, term);
}

}  // namespace stitch::oracle
