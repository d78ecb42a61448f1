#include "verify/numerics/layout.h"

#include <algorithm>
#include <cstring>

namespace stitch::verifier {

namespace {

// Calls copy(stored index, row-major index) for every element.
template <class Copy>
void walk(const Slot& slot, Copy&& copy) {
  Shape shape = slot.stored().shape;
  std::vector<int64_t> natural = contiguous_strides(slot.type.shape), strides;
  for (int64_t dim : slot.order) strides.push_back(natural[static_cast<size_t>(dim)]);
  std::vector<int64_t> at(shape.size());
  int64_t from = 0;
  for (int64_t i = 0; i < slot.type.elements(); ++i) {
    copy(i, from);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++at[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

template <bool into_storage>
std::vector<std::byte> moved(const Slot& slot, std::span<const std::byte> bytes) {
  if (slot.order.empty()) return {bytes.begin(), bytes.end()};
  std::vector<std::byte> out(bytes.size());
  auto size = static_cast<size_t>(size_of(slot.type.dtype));
  walk(slot, [&](int64_t stored, int64_t natural) {
    int64_t to = into_storage ? stored : natural, from = into_storage ? natural : stored;
    std::memcpy(out.data() + static_cast<size_t>(to) * size, bytes.data() + static_cast<size_t>(from) * size,
                size);
  });
  return out;
}

}  // namespace

bool fits(const Slot& slot) {
  if (slot.order.empty()) return true;
  std::vector<int64_t> sorted = slot.order;
  std::ranges::sort(sorted);
  if (std::ssize(sorted) != slot.type.rank()) return false;
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  return true;
}

std::vector<std::byte> to_storage(const Slot& slot, std::span<const std::byte> row_major) {
  return moved<true>(slot, row_major);
}
std::vector<std::byte> from_storage(const Slot& slot, std::span<const std::byte> stored) {
  return moved<false>(slot, stored);
}

}  // namespace stitch::verifier
