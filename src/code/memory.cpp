#include "code/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stitch::code {

namespace {

constexpr int64_t alignment = 256;
int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// Places each value in the lowest gap that is free during its lifetime.
Layout lay_out_in(const std::vector<size_t>& order, const std::vector<Lifetime>& lifetimes) {
  Layout layout{std::vector<int64_t>(lifetimes.size()), 0};
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;  // begin, end
  for (size_t i : order) {
    const Lifetime& own = lifetimes[i];
    taken.clear();
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

// Live bytes at each time at which a lifetime begins.
std::map<int, int64_t> bytes_at_times(const std::vector<Lifetime>& lifetimes) {
  std::map<int, int64_t> changes;
  for (const Lifetime& each : lifetimes) {
    if (each.last < each.first) continue;
    changes[each.first] += aligned(each.bytes);
    changes[each.last + 1] -= aligned(each.bytes);
  }
  int64_t now = 0;
  for (auto& [time, bytes] : changes) bytes = now += bytes;
  return changes;
}

std::vector<size_t> largest_first(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return lifetimes[i].bytes; });
  return order;
}

// Values live at the fullest times first, and of those the largest first.
std::vector<size_t> fullest_times_first(const std::vector<Lifetime>& lifetimes,
                                        const std::map<int, int64_t>& times) {
  std::vector<int64_t> fullest(lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i)
    for (auto at = times.lower_bound(lifetimes[i].first); at != times.end() && at->first <= lifetimes[i].last;
         ++at)
      fullest[i] = std::max(fullest[i], at->second);
  std::vector<size_t> order = largest_first(lifetimes);
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return fullest[i]; });
  return order;
}

}  // namespace

Layout lay_out(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order = largest_first(lifetimes);
  Layout best = lay_out_in(order, lifetimes);
  const std::map<int, int64_t> times = bytes_at_times(lifetimes);
  int64_t least = 0;
  for (const auto& [time, bytes] : times) least = std::max(least, bytes);
  auto take = [&](std::vector<size_t> other) {
    Layout layout = lay_out_in(other, lifetimes);
    if (layout.bytes >= best.bytes) return false;
    best = std::move(layout);
    order = std::move(other);
    return true;
  };
  if (best.bytes > least) take(fullest_times_first(lifetimes, times));
  // Move the highest value to the front while that helps: a few times, since each pass is quadratic.
  constexpr int64_t most_work = 200'000'000;
  const int64_t size = std::max<int64_t>(std::ssize(lifetimes), 1);
  const int64_t tries = std::min<int64_t>(64, most_work / (size * size));
  for (int64_t i = 0, failed = 0; i < tries && failed < 8 && best.bytes > least; ++i) {
    std::vector<size_t> highest = order;
    std::ranges::stable_sort(highest, std::greater(), [&](size_t each) {
      return best.offsets[each] + aligned(lifetimes[each].bytes);
    });
    std::vector<size_t> other = order;
    const auto at = std::ranges::find(other, highest[static_cast<size_t>(failed) % highest.size()]);
    std::rotate(other.begin(), at, at + 1);
    failed = take(std::move(other)) ? 0 : failed + 1;
  }
  return best;
}

}  // namespace stitch::code
