// The arena: values between regions whose lifetimes don't overlap share memory.
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
  std::vector<int64_t> offsets;  // one per lifetime, multiples of 256
  int64_t bytes = 0;             // of the whole arena
};
// First fit: each at the lowest offset that is free during its lifetime, in the best of a few orders, largest
// first to begin with.
Layout lay_out(const std::vector<Lifetime>& lifetimes);

}  // namespace stitch::code
