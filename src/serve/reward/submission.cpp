#include "serve/reward/submission.h"

#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "llm/answers/code_answer.h"
#include "program/program_text.h"

namespace stitch::serve {

namespace {

constexpr std::string_view entry_of_cuda = "stitch_run", entry_of_python = "ModelNew";

std::string_view name(llm::Language language) { return language == llm::Language::cuda ? "cuda" : "python"; }

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// Which entry point comes last counts: a model explains itself before it writes.
llm::Language guess(std::string_view text) {
  const bool python = holds(text, "class ModelNew") || holds(text, "import torch");
  return python && !holds(text, entry_of_cuda) ? llm::Language::python : llm::Language::cuda;
}

Result<std::string> text_in(const Json& item, const char* field) {
  auto found = item.find(field);
  if (found == item.end() || found->is_null()) return std::string();
  if (!found->is_string()) return at(field, user_error("request", "must be a string"));
  return found->get<std::string>();
}

Result<Code> code_in(const Json& item, const char* field, const std::string& language,
                     const Code& before = {}) {
  auto found = item.find(field);
  if (found == item.end() || found->is_null()) return Code{};
  if (found->is_object()) {  // {"code": …, "language": …}
    STITCH_TRY(std::string text, text_in(*found, "code"));
    STITCH_TRY(std::string own, text_in(*found, "language"));
    return code_of(text, own.empty() ? language : own, Sent::source, before);
  }
  STITCH_TRY(std::string text, text_in(item, field));
  return code_of(text, language, std::string_view(field) == "response" ? Sent::answer : Sent::source, before);
}

// The files that an answer holds, each in a block of its own whose first line says which it is. Empty: none
// does.
std::string files_in(const std::string& text, Sent sent, std::string& missing) {
  if (is_several_files(text)) return text;
  if (sent == Sent::source && !trim(text).starts_with("```")) return "";
  std::string out;
  for (const llm::Fence& fence : llm::fences_in(text)) {
    if (!is_several_files(fence.text)) continue;
    if (!fence.closed) missing = "the answer's code is cut off: its code block is not closed";
    out += fence.text;
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

// Files of a program; those that aren't there are the ones of the program before.
Code code_of_files(const std::string& text, const Code& before) {
  Code out;
  auto files = files_of_text(text);
  auto old = is_several_files(before.text) ? files_of_text(before.text) : SourceFiles{};
  if (files && old) files = with_changes(*std::move(old), *files);
  if (!files)
    out.missing = files.error().text();
  else if (!files->contains("program.cu"))
    out.missing = "there is no program.cu among the files";
  else
    out.text = program_text(*files);
  return out;
}

}  // namespace

Result<Code> code_of(const std::string& text, const std::string& language, Sent sent, const Code& before) {
  Code out;
  if (!language.empty() && language != "cuda" && language != "python")
    return at("language", user_error("request", format("unknown language '{}'", language), "cuda or python"));
  if (const std::string files = files_in(text, sent, out.missing); !files.empty())
    return out.missing.empty() ? code_of_files(files, before) : out;
  out.language = language.empty()     ? guess(text)
                 : language == "cuda" ? llm::Language::cuda
                                      : llm::Language::python;
  const bool fenced = sent == Sent::answer ? !llm::fences_in(text).empty() : trim(text).starts_with("```");
  if (!fenced) {
    out.text = text;
    if (trim(text).empty()) out.missing = "the answer is empty";
    return out;
  }
  const std::string_view entry = out.language == llm::Language::cuda ? entry_of_cuda : entry_of_python;
  auto code = llm::code_from_answer(text, entry, out.language);
  if (code)
    out.text = *std::move(code);
  else
    out.missing = code.error().message;
  return out;
}

Result<Submission> read_submission(const Json& item) {
  if (!item.is_object())
    return user_error("request", "a submission must be an object", R"({"task": "…", "code": "…"})");
  Submission out;
  STITCH_TRY(out.task, text_in(item, "task"));
  if (out.task.empty())
    return at("task", user_error("request", "\"task\" is missing", "GET /tasks lists them"));
  STITCH_TRY(std::string language, text_in(item, "language"));
  const char* field = item.contains("code") ? "code" : "response";
  if (!item.contains(field))
    return at("code", user_error("request", "\"code\" is missing",
                                 "\"code\": a source, or \"response\": a model's answer"));
  STITCH_TRY(out.before, code_in(item, "before", language));
  STITCH_TRY(out.code, code_in(item, field, language, out.before));
  STITCH_TRY(out.feedback, text_in(item, "feedback"));
  STITCH_TRY(std::string skill, text_in(item, "skill"));
  if (!skill.empty() && skill != "from scratch" && skill != "from feedback")
    return at("skill",
              user_error("request", format("unknown skill '{}'", skill), "from scratch or from feedback"));
  const bool changed = !out.before.text.empty() && !out.feedback.empty();
  if (skill == "from feedback" && !changed)
    return at("before", user_error("request", "from feedback needs \"before\" and \"feedback\""));
  if (skill == "from scratch" || !changed) {
    out.before = {};
    out.feedback.clear();
  }
  return out;
}

Json to_json(const Submission& submission) {
  auto code = [](const Code& each) {
    Json out = {{"language", name(each.language)}, {"code", each.text}};
    if (!each.missing.empty()) out["missing"] = each.missing;
    return out;
  };
  Json out = {{"task", submission.task}, {"code", code(submission.code)}};
  if (submission.from_feedback()) {
    out["before"] = code(submission.before);
    out["feedback"] = submission.feedback;
  }
  return out;
}

std::string key_of(const Submission& submission, const std::string& circumstances) {
  Sha256 sum;
  for (const Code* code : {&submission.code, &submission.before}) {
    sum.add_field(name(code->language));
    sum.add_field(code->text);
    sum.add_field(code->missing);
  }
  sum.add_field(submission.feedback);
  sum.add_field(circumstances);
  return sum.hex().substr(0, 32);
}

}  // namespace stitch::serve
