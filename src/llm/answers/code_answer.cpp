#include "llm/answers/code_answer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "llm/answers/fences.h"
#include "llm/answers/repair.h"

namespace stitch::llm {

namespace {

constexpr std::array<std::string_view, 9> cuda_labels = {"",  "cuda", "cu",     "cpp",  "c++",
                                                         "c", "cc",   "cuda-c", "cudac"};
constexpr std::array<std::string_view, 4> python_labels = {"", "python", "py", "python3"};

bool is_label_of(Language language, std::string_view label) {
  return language == Language::cuda ? std::ranges::find(cuda_labels, label) != cuda_labels.end()
                                    : std::ranges::find(python_labels, label) != python_labels.end();
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// As a whole word.
bool holds(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

Result<std::string> code_from_answer(std::string_view text, std::string_view function, Language language) {
  if (trim(text).empty()) return work_error("llm_answer", "the answer is empty");
  const std::vector<Fence> fences = fences_in(text);
  const Fence* best = nullptr;
  auto rank = [&](const Fence& fence) { return std::pair(holds(fence.text, function), fence.text.size()); };
  for (const Fence& fence : fences) {
    if (!is_label_of(language, fence.language) || trim(fence.text).empty()) continue;
    if (!best || rank(*best) < rank(fence)) best = &fence;
  }
  if (best && !best->closed)
    return work_error("llm_answer", "the answer's code is cut off: its code block is not closed");
  if (best) return best->text;
  const char* sign_of_code = language == Language::cuda ? "{" : "import ";
  if (fences.empty() && holds(text, function) && text.find(sign_of_code) != std::string_view::npos)
    return trim(text) + "\n";
  if (fences.empty()) return work_error("llm_answer", "the answer has no fenced code block");
  return work_error("llm_answer", format("none of the answer's code blocks is {}",
                                         language == Language::cuda ? "C++ or CUDA" : "Python"));
}

Result<CodeAnswer> ask_code(Chat& chat, Request request, std::string_view function, const AskOptions& options,
                            const CodeCheck& check, Language language) {
  CodeAnswer out;
  auto read = [&](const Reply& reply) -> Result<void> {
    STITCH_TRY(std::string source, code_from_answer(reply.text, function, language));
    if (!function.empty() && !holds(source, function))
      return work_error("llm_answer", format("the code has no {} {}",
                                             language == Language::cuda ? "function" : "class", function));
    if (check) STITCH_CHECK(check(source));
    out.source = std::move(source);
    return {};
  };
  STITCH_TRY(Repaired asked,
             ask_with_repair(chat, std::move(request), options, read,
                             format("Answer again with the whole corrected source in one ```{} fence.",
                                    language == Language::cuda ? "cuda" : "python")));
  out.reply = std::move(asked.reply);
  out.conversation = std::move(asked.conversation);
  out.repaired = asked.repaired;
  return out;
}

}  // namespace stitch::llm
