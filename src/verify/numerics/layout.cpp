#include "verify/numerics/layout.h"

#include <algorithm>
#include <cstring>

#include "base/machine/parallel.h"

namespace stitch::verifier {

namespace {

// Calls copy(stored index, row-major index) for every element, on all cores.
template <class Copy>
void walk(const Slot& slot, Copy&& copy) {
  constexpr int64_t grain = 1 << 16;
  const Shape shape = slot.stored().shape;
  const std::vector<int64_t> natural = contiguous_strides(slot.type.shape);
  std::vector<int64_t> strides;
  for (int64_t dim : slot.order) strides.push_back(natural[static_cast<size_t>(dim)]);
  parallel_for(slot.type.elements(), grain, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> at(shape.size());
    int64_t from = 0, rest = begin;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      at[d] = rest % shape[d];
      from += at[d] * strides[d];
    }
    for (int64_t i = begin; i < end; ++i) {
      copy(i, from);
      for (size_t d = shape.size(); d-- > 0;) {
        from += strides[d];
        if (++at[d] < shape[d]) break;
        from -= strides[d] * shape[d];
        at[d] = 0;
      }
    }
  });
}

template <bool into_storage, class Element>
void move_elements(const Slot& slot, const std::byte* from, std::byte* to) {
  walk(slot, [&](int64_t stored, int64_t natural) {
    std::memcpy(to + (into_storage ? stored : natural) * static_cast<int64_t>(sizeof(Element)),
                from + (into_storage ? natural : stored) * static_cast<int64_t>(sizeof(Element)),
                sizeof(Element));
  });
}

template <bool into_storage>
std::vector<std::byte> moved(const Slot& slot, std::span<const std::byte> bytes) {
  if (slot.order.empty()) return {bytes.begin(), bytes.end()};
  std::vector<std::byte> out(bytes.size());
  switch (size_of(slot.type.dtype)) {
    case 1: move_elements<into_storage, uint8_t>(slot, bytes.data(), out.data()); break;
    case 2: move_elements<into_storage, uint16_t>(slot, bytes.data(), out.data()); break;
    case 4: move_elements<into_storage, uint32_t>(slot, bytes.data(), out.data()); break;
    default: move_elements<into_storage, uint64_t>(slot, bytes.data(), out.data());
  }
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
