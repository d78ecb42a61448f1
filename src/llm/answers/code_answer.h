// A source out of what a model said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llm/chat.h"

namespace stitch::llm {

enum class Language : uint8_t { cuda, python };

// The fenced block (of CUDA: cuda, cu, cpp, c++, c, or without a label) that holds `function`, the longest of
// those; where no block holds it, the longest; the whole text where there is no fence and it holds
// `function`. Only the answer is looked at, never the reasoning. "llm_answer" where there is no code.
Result<std::string> code_from_answer(std::string_view text, std::string_view function,
                                     Language language = Language::cuda);

struct CodeAnswer {
  std::string source;
  Reply reply;                        // the last one
  std::vector<Message> conversation;  // the request's messages and all that followed, the reply included
  bool repaired = false;
};
// What is wrong with the source, in words for the model.
using CodeCheck = std::function<Result<void>(const std::string& source)>;

// Asks and reads, with one repair round as in ask_json().
Result<CodeAnswer> ask_code(Chat& chat, Request request, std::string_view function,
                            const AskOptions& options = {}, const CodeCheck& check = {},
                            Language language = Language::cuda);

// A Markdown text as prose and fenced blocks.
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
