#include "code/lines.h"

#include <algorithm>
#include <utility>

namespace stitch::code {

namespace {

// Of its last line.
size_t width_of(const std::string& code) { return code.size() - (code.rfind('\n') + 1); }

}  // namespace

void Lines::add(std::string code, std::string comment) {
  lines_.push_back({std::move(code), std::move(comment)});
}

size_t Lines::code_width() const {
  size_t widest = 0;
  for (const Line& line : lines_)
    if (!line.comment.empty()) widest = std::max(widest, width_of(line.code));
  return widest;
}

size_t Lines::widest() const {
  size_t most = 0;
  for (const Line& line : lines_)
    most =
        std::max(most, line.comment.empty() ? width_of(line.code) : code_width() + 5 + line.comment.size());
  return most;
}

std::string Lines::text() const {
  const size_t widest = code_width();
  std::string out;
  for (const Line& line : lines_) {
    out += line.code;
    const size_t width = width_of(line.code);
    if (!line.comment.empty()) out += std::string(widest - width + 2, ' ') + "// " + line.comment;
    out += '\n';
  }
  return out;
}

}  // namespace stitch::code
