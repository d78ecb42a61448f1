#include "llm/answers/json_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "llm/answers/fences.h"
#include "llm/answers/repair.h"

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

}  // namespace stitch::llm
