#pragma once

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
inline T inclusive_scan(const Group& group, T value, Op op, unsigned line = __builtin_LINE()) {
  for (unsigned step = 1; step < group.size(); step *= 2) {
    T before = group.shfl_up(value, step, line);
    if (group.thread_rank() >= step) value = op(before, value);
  }
  return value;
}
template <class Group, class T>
inline T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class Op>
inline T exclusive_scan(const Group& group, T value, Op op, unsigned line = __builtin_LINE()) {
  T sum = inclusive_scan(group, value, op, line);
  T before = group.shfl_up(sum, 1, line);
  return group.thread_rank() ? before : T{};
}
template <class Group, class T>
inline T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
