#include "code/memory.h"

#include <algorithm>
#include <numeric>

namespace stitch::code {

namespace {

constexpr int64_t alignment = 256;
int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

Layout lay_out(const std::vector<Lifetime>& lifetimes) {
  Layout layout{std::vector<int64_t>(lifetimes.size()), 0};
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;
  for (size_t i : order) {
    const Lifetime& own = lifetimes[i];
    std::vector<std::pair<int64_t, int64_t>> taken;  // begin, end
    for (size_t other : placed)
      if (lifetimes[other].first <= own.last && own.first <= lifetimes[other].last)
        taken.emplace_back(layout.offsets[other], layout.offsets[other] + aligned(lifetimes[other].bytes));
    std::ranges::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + aligned(own.bytes) <= begin) break;
      offset = std::max(offset, end);
    }
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + aligned(own.bytes));
    placed.push_back(i);
  }
  return layout;
}

}  // namespace stitch::code
