#include "llm/answers/code_answer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"
#include "llm/answers/json_answer.h"

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
