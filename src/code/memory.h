// Where values lie between regions: those that never live at the same time share memory.
#pragma once

#include <cstdint>
#include <vector>

namespace stitch::code {

// Needed from region `first` to region `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Layout {
  std::vector<int64_t> offsets;  // one a lifetime, multiples of 256
  int64_t bytes = 0;             // of the whole arena
};
// Each in the lowest gap that is free while it lives, in the best of a few orders; largest first is the
// first.
Layout lay_out(const std::vector<Lifetime>& lifetimes);

}  // namespace stitch::code
