// The fenced blocks of a Markdown text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stitch::llm {

struct Fence {
  std::string language;  // the first word behind the opening fence, in lower case
  std::string text;
  bool closed = true;  // the answer may have been cut off
};

std::vector<Fence> fences_in(std::string_view markdown);

}  // namespace stitch::llm
