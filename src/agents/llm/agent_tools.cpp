#include "agents/llm/agent_tools.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "llm/answers.h"
#include "notes/note.h"
#include "program/package.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

constexpr const char* region_file = "region.cu";
constexpr size_t most_files = 32;
constexpr size_t most_file_bytes = 1 << 20;
constexpr size_t most_kernels = 40;  // told of a program

std::shared_ptr<const Json> schema(Json properties, std::vector<std::string> required) {
  return std::make_shared<const Json>(Json{{"type", "object"},
                                           {"properties", std::move(properties)},
                                           {"required", std::move(required)},
                                           {"additionalProperties", false}});
}

Json text_field(const char* about) { return {{"type", "string"}, {"description", about}}; }

}  // namespace

struct AgentTools::Row {
  llm::ToolSpec spec;
  Tool tool;
};

const std::vector<AgentTools::Row>& AgentTools::rows_of_tools() {
  const Json none = Json::object();
  static const std::vector<Row> rows = {
      {{"list_files", "Lists the files, and the headers that a source may include.", schema(none, {})},
       &AgentTools::list_files},
      {{"read_file", "One file or header.",
        schema({{"path", text_field("a name from list_files")},
                {"first_line", {{"type", "integer"}, {"minimum", 1}, {"description", "default: 1"}}}},
               {"path"})},
       &AgentTools::read_file},
      {{"write_file", "Creates or replaces a file. region.cu is what is checked and submitted.",
        schema({{"path", text_field("a name without folders")}, {"text", text_field("the whole file")}},
               {"path", "text"})},
       &AgentTools::write_file},
      {{"edit_file", "Replaces a piece of a file that was written. `old` has to be there exactly once.",
        schema({{"path", text_field("a name without folders")},
                {"old", text_field("what is there, word for word")},
                {"new", text_field("what takes its place")}},
               {"path", "old", "new"})},
       &AgentTools::edit_file},
      {{"change_plan",
        "Instead of a source: implements the region otherwise. Changes that can't be made are answered one "
        "by "
        "one, the others are made. They count until region.cu is written again.",
        std::make_shared<const Json>(region_changes_schema())},
       &AgentTools::change_plan},
      {{"compile",
        "Builds the program with region.cu without running it: the compiler's errors, or its kernels' "
        "registers, spills and shared memory.",
        schema(none, {})},
       &AgentTools::compile},
      {{"check",
        "Builds the program with region.cu, or with the changes of the plan, and verifies it: returns what "
        "failed, or that every gate passed.",
        schema(none, {})},
       &AgentTools::check},
      {{"profile", "Profile of the program that was checked last.", schema(none, {})}, &AgentTools::profile},
      {{"search_notes", "Searches notes on CUDA techniques.",
        schema({{"query", text_field("a few words")}}, {"query"})},
       &AgentTools::search_notes},
      {{"submit", "Submits region.cu, or the changes of the plan, and ends the work.", schema(none, {})},
       &AgentTools::submit},
      {{"decline", "Nothing is to be gained here: ends the work.",
        schema({{"reason", text_field("one sentence")}}, {"reason"})},
       &AgentTools::decline},
  };
  return rows;
}

const std::vector<llm::ToolSpec>& AgentTools::specs() {
  static const std::vector<llm::ToolSpec> all = [] {
    std::vector<llm::ToolSpec> out;
    for (const Row& row : rows_of_tools()) out.push_back(row.spec);
    return out;
  }();
  return all;
}

AgentTools::AgentTools(const Situation& now, const Proposal& step, const plan::Plan& plan, RegionBrief brief,
                       const LlmBrain& brain)
    : now_(now), step_(step), plan_(plan), brief_(std::move(brief)), brain_(brain) {
  files_["contract.md"] = brief_.values.at("contract") + "\n" + brief_.values.at("function_signature") + "\n";
  files_["builtin.cu"] = brief_.values.at("builtin_source");
}

Result<RegionAnswer> AgentTools::present() const {
  if (changes_) return RegionAnswer{.source = {}, .changes = changes_, .declined = {}};
  auto found = files_.find(region_file);
  if (found == files_.end()) return work_error("llm_answer", "write region.cu first, or change the plan");
  return RegionAnswer{.source = found->second, .changes = {}, .declined = {}};
}

std::optional<RegionAnswer> AgentTools::best() const {
  if (passed_) return passed_;
  auto now = present();
  return now ? std::optional(*std::move(now)) : std::nullopt;
}

Result<std::string> AgentTools::call(const llm::ToolCall& call) {
  STITCH_TRY(Json arguments, llm::tool_arguments(call, specs()));
  for (const Row& row : rows_of_tools())
    if (row.spec.name == call.name) return (this->*row.tool)(arguments);
  return work_error("llm_answer", "no such tool");
}

void AgentTools::go_on_with(const std::map<std::string, std::string>& files) {
  for (const auto& [path, text] : files) files_.try_emplace(path, text);
}

namespace {

// Of programs, by the names that #include has them by.
Result<std::map<std::string, fs::path>> headers() {
  STITCH_TRY(const fs::path files, find_program_files());
  const fs::path folder = files / "include";
  std::map<std::string, fs::path> out;
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ec))
    if (entry.is_regular_file(ec) && entry.path().extension() == ".h")
      out.emplace(entry.path().lexically_relative(folder).generic_string(), entry.path());
  return out;
}

// Whole lines from `first` on, up to `limit` bytes.
std::string lines_from(const std::string& text, int64_t first, size_t limit) {
  const std::vector<std::string> lines = split(text, '\n');
  std::string out;
  for (size_t i = static_cast<size_t>(first - 1); i < lines.size(); ++i) {
    if (out.size() + lines[i].size() > limit && !out.empty())
      return out + format("… from line {} on: call it with first_line\n", i + 1);
    out += lines[i] + '\n';
  }
  return out;
}

}  // namespace

Result<std::string> AgentTools::list_files(const Json&) {
  std::string out;
  for (const auto& [path, text] : files_) out += format("{} ({} bytes)\n", path, text.size());
  if (auto there = headers()) {
    out += "headers:\n";
    for (const auto& [name, path] : *there) {
      auto text = stitch::read_file(path);  // its first line says what it is
      out += format("{}  {}\n", name, text ? text->substr(0, text->find('\n')) : "");
    }
  }
  return out;
}

Result<std::string> AgentTools::read_file(const Json& arguments) {
  const std::string path = arguments.at("path").get<std::string>();
  const int64_t first = arguments.value("first_line", int64_t{1});
  const size_t limit = share_of_prompt(brain_, 0.1);
  if (auto found = files_.find(path); found != files_.end()) return lines_from(found->second, first, limit);
  STITCH_TRY(const auto there, headers());
  auto header = there.find(path);
  if (header == there.end())
    return work_error("llm_answer", format("no such file: '{}'; list_files names those there are",
                                           shorten(printable(path), 60)));
  STITCH_TRY(const std::string text, stitch::read_file(header->second));
  return lines_from(text, first, limit);
}

Result<std::string> AgentTools::take(const std::string& path, std::string text) {
  if (path.empty() || path.size() > 100 || path.find_first_of("/\\") != std::string::npos || path == "..")
    return work_error("llm_answer", "expected a file name without folders");
  if (path == "contract.md" || path == "builtin.cu")
    return work_error("llm_answer", format("{} is read-only", path));
  if (text.size() > most_file_bytes || (files_.size() >= most_files && !files_.contains(path)))
    return work_error("llm_answer", "too large, or too many files");
  files_[path] = std::move(text);
  if (path == region_file) changes_ = nullptr;
  return format("{} is written", path);
}

Result<std::string> AgentTools::write_file(const Json& arguments) {
  return take(arguments.at("path").get<std::string>(), arguments.at("text").get<std::string>());
}

Result<std::string> AgentTools::edit_file(const Json& arguments) {
  const std::string path = arguments.at("path").get<std::string>();
  auto found = files_.find(path);
  if (found == files_.end())
    return work_error("llm_answer", format("no such file: '{}'", shorten(printable(path), 60)));
  const std::string old = arguments.at("old").get<std::string>();
  std::string text = found->second;
  const size_t at = old.empty() ? text.npos : text.find(old);
  if (at == text.npos)
    return work_error("llm_answer", "`old` is not in the file: it has to be word for word");
  if (text.find(old, at + 1) != text.npos)
    return work_error("llm_answer", "`old` is in the file more than once: take more of what surrounds it");
  text.replace(at, old.size(), arguments.at("new").get<std::string>());
  return take(path, std::move(text));
}

Result<std::string> AgentTools::change_plan(const Json& arguments) {
  RegionAnswer answer{.source = {}, .changes = std::make_shared<const Json>(arguments), .declined = {}};
  STITCH_TRY(PlanWithAnswer made, with_answer(now_, plan_, brief_, answer, brain_.author));
  changes_ = answer.changes;
  std::string out = made.refused.empty() ? "every change is made" : "made, but for these:";
  for (const std::string& each : made.refused) out += "\n" + each;
  return out;
}

Result<Draft> AgentTools::present_draft(const RegionAnswer& answer) const {
  if (!now_.bench) return work_error("llm_answer", "this is not available here: submit it");
  STITCH_TRY(PlanWithAnswer made, with_answer(now_, plan_, brief_, answer, brain_.author));
  return draft_of(now_, step_, std::move(made.plan), brain_.author);
}

Result<std::string> AgentTools::compile(const Json&) {
  STITCH_TRY(const RegionAnswer answer, present());
  STITCH_TRY(const Draft draft, present_draft(answer));
  STITCH_TRY(const verifier::Verdict verdict, now_.bench->try_out(draft, Judging::built));
  if (verdict.failure()) {
    STITCH_TRY(const Feedback feedback, now_.bench->explain(verdict));
    return feedback_text(feedback);
  }
  std::string out = "It compiles.\n";
  const verifier::GateReport* built = verdict.gate("build");
  const Json kernels = built && built->evidence ? built->evidence->value("kernels", Json::array()) : Json();
  for (const Json& kernel : kernels)
    if (word(kernel, "kernel").find(brief_.region) != std::string::npos || kernels.size() <= most_kernels)
      out += format("{}: {} registers, {} bytes spilled, {} bytes of shared memory\n", word(kernel, "kernel"),
                    kernel.value("registers", 0), kernel.value("spill_bytes", 0),
                    kernel.value("shared_bytes", 0));
  return out;
}

Result<std::string> AgentTools::check(const Json&) {
  STITCH_TRY(const RegionAnswer answer, present());
  STITCH_TRY(const Draft draft, present_draft(answer));
  if (brain_.on_progress) brain_.on_progress(format("{} checks {}", brain_.author, brief_.region));
  STITCH_TRY(verifier::Verdict verdict, now_.bench->try_out(draft));
  last_ = std::move(verdict);
  if (last_->passed()) {
    std::string out = "Every gate passed.";
    const auto timing = verifier::timing_of(*last_);
    if (timing) out += format(" A call takes {}.", seconds_text(timing->seconds));
    if (!passed_ || !timing || timing->seconds < passed_seconds_) {
      passed_ = answer;
      passed_seconds_ = timing ? timing->seconds : 0;
    }
    const auto regions = verifier::profile_of(*last_).region_seconds;
    if (auto own = regions.find(brief_.region); now_.ledger.measured && own != regions.end())
      out += format(" The region takes {} of it.", seconds_text(own->second));
    if (now_.best) out += format(" The best program so far takes {}.", seconds_text(now_.best->seconds));
    return out;
  }
  STITCH_TRY(Feedback feedback, now_.bench->explain(*last_));
  return feedback_text(feedback);
}

Result<std::string> AgentTools::profile(const Json&) {
  const verifier::GateReport* report = last_ ? last_->gate("profile") : nullptr;
  if (!report || !report->evidence)
    return work_error("llm_answer", "no profile yet: check a program that passes first");
  return llm::quoted("profile", report->summary) +
         llm::quoted_json("evidence", *report->evidence, share_of_prompt(brain_, 0.05));
}

Result<std::string> AgentTools::search_notes(const Json& arguments) {
  std::string out;
  if (brain_.notes)
    for (const notes::Hit& hit : notes::search(*brain_.notes, arguments.at("query").get<std::string>(), 3))
      out += format("### {}\nWhen: {}\n{}\n", hit.note->title, hit.note->when, hit.note->body);
  return out.empty() ? std::string("no note matches") : out;
}

Result<std::string> AgentTools::submit(const Json&) {
  STITCH_TRY(RegionAnswer answer, present());
  // What can't be the region's is said now, while it can be mended.
  STITCH_CHECK(with_answer(now_, plan_, brief_, answer, brain_.author));
  submitted_ = std::move(answer);
  return std::string("submitted");
}

Result<std::string> AgentTools::decline(const Json& arguments) {
  submitted_ =
      RegionAnswer{.source = {}, .changes = {}, .declined = arguments.at("reason").get<std::string>()};
  return std::string("declined");
}

}  // namespace stitch::agents
