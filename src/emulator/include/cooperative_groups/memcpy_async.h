// Copies by a group: synchronous in the thread that copies; visible to all threads after wait().
#pragma once

#include <cstring>

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class To, class From, class Bytes>
inline void memcpy_async(const Group& group, To* to, const From* from, Bytes shape) {
  const size_t bytes = static_cast<size_t>(shape);
  const size_t each = (bytes + group.size() - 1) / group.size(), begin = each * group.thread_rank();
  if (begin < bytes)
    std::memcpy(reinterpret_cast<char*>(to) + begin, reinterpret_cast<const char*>(from) + begin,
                each < bytes - begin ? each : bytes - begin);
}
template <class Group>
inline void wait(const Group& group, unsigned line = __builtin_LINE()) {
  group.sync(line);
}
template <unsigned Stages, class Group>
inline void wait_prior(const Group& group, unsigned line = __builtin_LINE()) {
  group.sync(line);
}

}  // namespace cooperative_groups
