#include "base/bulk.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "base/machine/parallel.h"

namespace stitch {

namespace {

constexpr int64_t piece = 4 << 20, few_pieces = 4;

// body(begin, size) over pieces of `bytes`.
template <class Body>
void over_pieces(size_t bytes, const Body& body) {
  const int64_t size = static_cast<int64_t>(bytes);
  parallel_for((size + piece - 1) / piece, few_pieces, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * piece;
    body(static_cast<size_t>(first), static_cast<size_t>(std::min(size, end * piece) - first));
  });
}

}  // namespace

void copy_bulk(std::span<const std::byte> from, std::byte* to) {
  over_pieces(from.size(),
              [&](size_t begin, size_t size) { std::memcpy(to + begin, from.data() + begin, size); });
}

bool equal_bulk(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  std::atomic<bool> same = true;
  over_pieces(a.size(), [&](size_t begin, size_t size) {
    if (same && std::memcmp(a.data() + begin, b.data() + begin, size) != 0) same = false;
  });
  return same;
}

BulkBytes bulk_copy_of(std::span<const std::byte> from) {
  std::shared_ptr<std::byte[]> owner(new std::byte[from.size()]);
  copy_bulk(from, owner.get());
  std::span<const std::byte> bytes(owner.get(), from.size());
  return {std::move(owner), bytes};
}

}  // namespace stitch
