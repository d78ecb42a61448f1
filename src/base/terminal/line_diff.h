// Two texts compared line by line, as `diff -u` shows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stitch {

struct DiffLine {
  enum class Kind : char { same = ' ', added = '+', removed = '-', gap = '@' } kind;
  std::string text;  // of a gap: how many lines are left out
};
// With `context` lines around what changed; nothing if nothing did. Texts whose middles are both very long
// are shown as one change.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after, size_t context = 3);

struct DiffSize {
  int added = 0, removed = 0;
};
DiffSize size_of(const std::vector<DiffLine>& diff);

}  // namespace stitch
