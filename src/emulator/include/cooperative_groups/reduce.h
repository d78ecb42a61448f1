#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

// A tree over ranks, so that floats are added in the same order as on a GPU; every thread gets the result.
template <class Group, class T, class Op>
inline T reduce(const Group& group, T value, Op op, unsigned line = __builtin_LINE()) {
  const unsigned count = group.size();
  unsigned step = 1;
  while (step < count) step *= 2;
  for (step /= 2; step; step /= 2) {
    T other = group.shfl_down(value, step, line);
    if (group.thread_rank() + step < count) value = op(value, other);
  }
  return group.shfl(value, 0, line);
}

}  // namespace cooperative_groups
