// A Markdown text as prose and fenced blocks.
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

struct Passage {
  bool code = false;  // a fenced block; else prose, its fence is empty but for the text
  Fence fence;
};

std::vector<Passage> passages_in(std::string_view markdown);
std::vector<Fence> fences_in(std::string_view markdown);

}  // namespace stitch::llm
