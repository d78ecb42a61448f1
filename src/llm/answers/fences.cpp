#include "llm/answers/fences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace stitch::llm {

namespace {

struct Mark {
  char kind = '`';
  size_t length = 0;
  size_t indent = 0;
  std::string_view behind;
};

// Three or more ` or ~ at the start of a line. Models indent fences in lists, so any indentation will do.
std::optional<Mark> mark_of(std::string_view line) {
  const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const std::string_view rest = line.substr(indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  const size_t length = std::min(rest.find_first_not_of(rest[0]), rest.size());
  if (length < 3) return std::nullopt;
  return Mark{rest[0], length, indent, rest.substr(length)};
}

std::string language_of(std::string_view behind) {
  const std::string text = trim(behind);
  return lower_case(text.substr(0, text.find_first_of(" \t{:,")));
}

}  // namespace

std::vector<Passage> passages_in(std::string_view markdown) {
  std::vector<Passage> out;
  std::optional<Mark> open;
  Passage current;
  auto end_passage = [&](Passage next) {
    if (current.code || !trim(current.fence.text).empty()) out.push_back(std::move(current));
    current = std::move(next);
  };
  while (!markdown.empty()) {
    const size_t end = markdown.find('\n');
    std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(end == std::string_view::npos ? markdown.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto mark = mark_of(line);
    if (!open) {
      // "```x``` and" is code in a line of prose.
      if (!mark || (mark->kind == '`' && mark->behind.find('`') != std::string_view::npos)) {
        current.fence.text += line;
        current.fence.text += '\n';
        continue;
      }
      open = mark;
      end_passage({true, {.language = language_of(mark->behind), .text = {}, .closed = false}});
    } else if (mark && mark->kind == open->kind && mark->length >= open->length &&
               trim(mark->behind).empty()) {
      current.fence.closed = true;
      end_passage({});
      open.reset();
    } else {
      const size_t indent = std::min({open->indent, line.find_first_not_of(" \t"), line.size()});
      current.fence.text += line.substr(indent);
      current.fence.text += '\n';
    }
  }
  end_passage({});
  return out;
}

std::vector<Fence> fences_in(std::string_view markdown) {
  std::vector<Fence> out;
  for (Passage& each : passages_in(markdown))
    if (each.code) out.push_back(std::move(each.fence));
  return out;
}

}  // namespace stitch::llm
