// Pairwise sums: the error grows with the logarithm of the count.
#pragma once

#include <cstdint>

namespace stitch::oracle {

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
