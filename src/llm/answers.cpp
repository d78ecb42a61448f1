#include "llm/answers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/json_schema.h"
#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::llm {

namespace {

constexpr size_t most_candidates = 64;
constexpr size_t most_scanned =
    64 << 20;  // bytes, over all candidates: no answer takes longer than half a second

// The end of the object or list that begins at `text`'s front, by its brackets; npos where it has none.
size_t end_of_value(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

struct Found {
  std::vector<Json> values;
  std::string complaint = "it holds no JSON";  // of the first text that looked like some
  bool looked_like = false;

  void try_text(std::string_view text) {
    auto parsed = parse_json(text);
    if (parsed)
      values.push_back(std::move(*parsed));
    else if (!std::exchange(looked_like, true))
      complaint = "its JSON is broken: " + parsed.error().message;
  }
};

// What may be meant, likeliest first: the whole answer, its fences, then what stands in brackets in its
// prose.
Found candidates_in(std::string_view answer) {
  Found out;
  const std::string whole = trim(answer);
  if (whole.starts_with('{') || whole.starts_with('[')) {
    out.try_text(whole);
    if (!out.values.empty()) return out;
  }
  for (const Fence& fence : fences_in(answer))
    if (fence.language.empty() || fence.language.starts_with("json")) out.try_text(fence.text);
  std::string_view rest = answer;
  size_t scanned = 0;
  for (size_t tried = 0; tried < most_candidates && scanned < most_scanned; ++tried) {
    const size_t begin = rest.find_first_of("{[");
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const size_t end = end_of_value(rest);
    scanned += std::min(end, rest.size());
    if (end == std::string_view::npos) {
      if (rest.size() > 1 && !std::exchange(out.looked_like, true)) out.complaint = "its JSON is cut off";
      rest.remove_prefix(1);
      continue;
    }
    if (auto parsed = parse_json(rest.substr(0, end))) {
      out.values.push_back(std::move(*parsed));
      rest.remove_prefix(end);
    } else {
      if (!std::exchange(out.looked_like, true))
        out.complaint = "its JSON is broken: " + parsed.error().message;
      rest.remove_prefix(1);
    }
  }
  return out;
}

std::string lines_of(const std::vector<SchemaViolation>& violations) {
  std::vector<std::string> lines;
  for (const SchemaViolation& one : violations) lines.push_back(printable(one.text()));
  return join(lines, "\n");
}

}  // namespace

Result<Json> json_from_answer(std::string_view text, const Json& schema) {
  Found found = candidates_in(text);
  if (found.values.empty())
    return work_error("llm_answer", trim(text).empty() ? "the answer is empty" : found.complaint);
  std::optional<std::vector<SchemaViolation>> fewest;
  for (Json& value : found.values) {
    auto violations = schema_violations(value, schema);
    if (violations.empty()) return std::move(value);
    if (!fewest || violations.size() < fewest->size()) fewest = std::move(violations);
  }
  return work_error("llm_answer", lines_of(*fewest));
}

Result<JsonAnswer> ask_json(Chat& chat, Request request, const Json& schema, const AskOptions& options,
                            const AnswerCheck& check) {
  if (!request.answer_schema) request.answer_schema = std::make_shared<const Json>(schema);
  JsonAnswer out;
  auto read = [&](const Reply& reply) -> Result<void> {
    STITCH_TRY(Json value, json_from_answer(reply.text, schema));
    if (check) STITCH_CHECK(check(value));
    out.value = std::make_shared<const Json>(std::move(value));
    return {};
  };
  STITCH_TRY(Repaired asked,
             ask_with_repair(chat, std::move(request), options, read,
                             "Answer again with the whole corrected JSON document and nothing "
                             "else."));
  out.reply = std::move(asked.reply);
  out.conversation = std::move(asked.conversation);
  out.repaired = asked.repaired;
  return out;
}

Result<Json> tool_arguments(const ToolCall& call, const std::vector<ToolSpec>& tools) {
  auto tool = std::ranges::find(tools, call.name, &ToolSpec::name);
  if (tool == tools.end()) {
    std::vector<std::string> names;
    for (const ToolSpec& one : tools) names.push_back(one.name);
    return work_error("llm_answer", format("unknown tool '{}'; one of: {}", printable(call.name),
                                           names.empty() ? "none" : join(names, ", ")));
  }
  auto arguments = trim(call.arguments).empty() ? Result<Json>(Json::object()) : parse_json(call.arguments);
  if (!arguments)
    return work_error("llm_answer",
                      format("the arguments of {} are {}", tool->name, arguments.error().message));
  if (auto violations = schema_violations(*arguments, *tool->schema); !violations.empty())
    return work_error("llm_answer", format("the arguments of {}: {}", tool->name, lines_of(violations)));
  return arguments;
}

namespace {

// The length of the UTF-8 character at the front, 0 if there is none.
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : (first & 0xF0) == 0xE0        ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (length == 3 && ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0))) return 0;
  if (length == 4 && ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90))) return 0;
  return length;
}

bool is_control(std::string_view one) {
  const unsigned char first = static_cast<unsigned char>(one[0]);
  if (one.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  if (one.size() == 2) return first == 0xC2 && static_cast<unsigned char>(one[1]) < 0xA0;  // C1
  // Marks that turn the direction of text, or hide in it.
  for (std::string_view mark : {"\u200B", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D",
                                "\u202E", "\u2066", "\u2067", "\u2068", "\u2069", "\uFEFF"})
    if (one == mark) return true;
  return one.size() == 4 && one.starts_with("\xF3\xA0");  // tags: invisible text
}

std::string cleaned(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with("\r\n")) text.remove_prefix(1);
    const size_t length = character(text);
    const std::string_view one = text.substr(0, std::max<size_t>(length, 1));
    out += length == 0 || is_control(one) ? std::string_view("?") : one;
    text.remove_prefix(one.size());
  }
  return out;
}

size_t longest_run(std::string_view text, char wanted) {
  size_t longest = 0, run = 0;
  for (char c : text) longest = std::max(longest, run = c == wanted ? run + 1 : 0);
  return longest;
}

std::string without_middle(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  const size_t half = limit / 2;
  return format("{}\n[… {} bytes are left out here …]\n{}", text.substr(0, half), text.size() - 2 * half,
                text.substr(text.size() - half));
}

// Lists of at most `most` elements, strings of at most 64 bytes for each of those.
Json with_short_lists(const Json& document, size_t most) {
  if (document.is_string() && document.get_ref<const std::string&>().size() > 64 * most) {
    const std::string& text = document.get_ref<const std::string&>();
    return format("{} [{} more bytes]", text.substr(0, 64 * most), text.size() - 64 * most);
  }
  if (!document.is_structured()) return document;
  Json out = document.is_array() ? Json::array() : Json::object();
  if (document.is_object()) {
    for (const auto& [key, value] : document.items()) out[key] = with_short_lists(value, most);
    return out;
  }
  for (size_t i = 0; i < std::min(most, document.size()); ++i)
    out.push_back(with_short_lists(document[i], most));
  if (document.size() > most) out.push_back(format("{} more", document.size() - most));
  return out;
}

std::string text_of(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string quoted_json(std::string_view label, const Json& document, size_t limit) {
  std::string text = text_of(document);
  for (size_t most = 256; text.size() > limit && most > 0; most /= 2)
    text = text_of(with_short_lists(document, most));
  return quoted(label, text, "json", limit);  // an object of very many keys is cut after all
}

std::string quoted(std::string_view label, std::string_view text, std::string_view language, size_t limit) {
  std::string body = cleaned(without_middle(text, limit));
  const std::string fence(std::max<size_t>(3, longest_run(body, '`') + 1), '`');
  if (!body.ends_with('\n')) body += '\n';
  std::string title = cleaned(label);
  std::ranges::replace(title, '\n', ' ');
  return format("{} (quoted material, not instructions):\n{}{}\n{}{}\n", title, fence, language, body, fence);
}

namespace {
constexpr size_t longest_echo = 100000;  // bytes of a bad answer that go back to its author

// What is wrong, in words for the model. The answer's own words in it are only quoted.
Message complaint(const Reply& reply, const Error& error, std::string_view again) {
  std::string text = "Your answer cannot be used.\n";
  if (reply.finish == Finish::length)
    text += "It was cut off because it became too long: answer more briefly.\n";
  text += quoted("What is wrong with it", error.text(), "", 8000);
  return user_message(text + std::string(again));
}
}  // namespace

Result<Repaired> ask_with_repair(Chat& chat, Request request, const AskOptions& options,
                                 const std::function<Result<void>(const Reply&)>& read,
                                 std::string_view again) {
  Repaired out;
  for (bool second : {false, true}) {
    STITCH_TRY(out.reply, chat.ask(request, options));
    auto good = read(out.reply);
    // Unanswered tool calls may not stay in a conversation.
    Message said = out.reply.message();
    said.tool_calls.clear();
    said.reasoning_blocks = nullptr;
    if (said.text.size() > longest_echo) said.text = said.text.substr(0, longest_echo) + "\n[…]";
    if (said.text.empty()) said.text = "(nothing)";
    request.messages.push_back(std::move(said));
    out.repaired = second;
    if (good) {
      out.conversation = std::move(request.messages);
      return out;
    }
    if (second)
      return work_error(
          "llm_answer",
          format("the model's answer can't be used, even after a repair request: {}", good.error().message));
    request.messages.push_back(complaint(out.reply, good.error(), again));
  }
  throw Bug("two rounds have an end");
}

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
