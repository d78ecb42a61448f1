#include "base/terminal/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/format.h"
#include "base/text.h"

namespace stitch {

namespace {

constexpr size_t most_cells = size_t{1} << 24;  // of the table; more would take seconds

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines out = split(text, '\n');
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

// The whole of both texts, by the longest common subsequence of what lies between their common ends.
std::vector<DiffLine> compare(const Lines& a, const Lines& b) {
  size_t head = 0, tail = 0;
  const size_t least = std::min(a.size(), b.size());
  while (head < least && a[head] == b[head]) ++head;
  while (tail < least - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const size_t rows = a.size() - head - tail, columns = b.size() - head - tail;
  std::vector<DiffLine> out;
  for (size_t i = 0; i < head; ++i) out.push_back({DiffLine::Kind::same, a[i]});
  size_t i = 0, j = 0;
  if ((rows + 1) * (columns + 1) <= most_cells) {
    const size_t width = columns + 1;
    std::vector<uint32_t> longest((rows + 1) * width);
    for (size_t y = rows; y-- > 0;)
      for (size_t x = columns; x-- > 0;)
        longest[y * width + x] = a[head + y] == b[head + x]
                                     ? longest[(y + 1) * width + x + 1] + 1
                                     : std::max(longest[(y + 1) * width + x], longest[y * width + x + 1]);
    while (i < rows && j < columns) {
      if (a[head + i] == b[head + j]) {
        out.push_back({DiffLine::Kind::same, a[head + i]});
        ++i, ++j;
      } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
        out.push_back({DiffLine::Kind::removed, a[head + i++]});
      } else {
        out.push_back({DiffLine::Kind::added, b[head + j++]});
      }
    }
  }
  while (i < rows) out.push_back({DiffLine::Kind::removed, a[head + i++]});
  while (j < columns) out.push_back({DiffLine::Kind::added, b[head + j++]});
  for (size_t k = a.size() - tail; k < a.size(); ++k) out.push_back({DiffLine::Kind::same, a[k]});
  return out;
}

}  // namespace

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after, size_t context) {
  std::vector<DiffLine> all = compare(lines_of(before), lines_of(after)), out;
  auto near_change = [&](size_t at) {
    const size_t first = at < context ? 0 : at - context, last = std::min(all.size(), at + context + 1);
    return std::any_of(all.begin() + static_cast<ptrdiff_t>(first),
                       all.begin() + static_cast<ptrdiff_t>(last),
                       [](const DiffLine& line) { return line.kind != DiffLine::Kind::same; });
  };
  size_t left_out = 0;
  bool changed = false;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!near_change(i)) {
      ++left_out;
      continue;
    }
    changed = true;
    if (left_out > 0)
      out.push_back({DiffLine::Kind::gap, format("{} line{}", left_out, left_out == 1 ? "" : "s")});
    left_out = 0;
    out.push_back(std::move(all[i]));
    // Kept for the lines after it.
    all[i].kind = out.back().kind;
  }
  if (changed && left_out > 0)
    out.push_back({DiffLine::Kind::gap, format("{} line{}", left_out, left_out == 1 ? "" : "s")});
  return out;
}

DiffSize size_of(const std::vector<DiffLine>& diff) {
  DiffSize out;
  for (const DiffLine& line : diff) {
    out.added += line.kind == DiffLine::Kind::added;
    out.removed += line.kind == DiffLine::Kind::removed;
  }
  return out;
}

}  // namespace stitch
