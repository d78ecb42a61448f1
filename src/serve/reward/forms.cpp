#include "serve/reward/forms.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "program/program_text.h"
#include "serve/fleet/desk.h"

namespace stitch::serve {

namespace {

constexpr size_t most_items = 4096;

Error malformed(std::string where, std::string what) {
  return at(std::move(where), user_error("request", std::move(what)));
}

double reward_in(const SharedJson& answer) { return answer->value("reward", 0.0); }

// A label is a task's name, or JSON with more: {"task", "before", "feedback", "language", "skill"}.
Result<Json> item_of_label(const Json& label, std::string response) {
  Json item;
  if (label.is_object()) {
    item = label;
  } else if (label.is_string()) {
    const std::string text = label.get<std::string>();
    auto parsed = text.starts_with('{') ? parse_json(text) : Result<Json>(Json());
    item = parsed && parsed->is_object() ? *std::move(parsed) : Json{{"task", text}};
  } else {
    return malformed("label", "must be a task's name, or an object with one");
  }
  if (!item.contains("task"))
    for (const char* other : {"task_id", "ground_truth"})
      if (item.contains(other)) item["task"] = item[other];
  item.erase("code");
  item["response"] = std::move(response);
  return item;
}

// ---- ours: a submission, or many

Result<std::vector<Json>> read_own(const Json& body) {
  const Json& items = body.is_object() && body.contains("items") ? body["items"] : body;
  if (!items.is_array()) return std::vector{body};
  if (items.size() > most_items) return malformed("items", format("at most {} at once", most_items));
  return std::vector<Json>(items.begin(), items.end());
}

Json write_own(const http::Request&, const Json& body, const std::vector<SharedJson>& answers) {
  if (!body.is_array() && !body.contains("items")) return *answers[0];
  Json out = Json::array();
  for (const SharedJson& answer : answers) out.push_back(*answer);
  return {{"answers", std::move(out)}};
}

// ---- OpenRLHF: {"query", "prompts", "labels"}, lists of one or more

// A query is the whole conversation. What the prompt holds is not the model's.
std::string response_in(const std::string& query, const std::string& prompt) {
  if (prompt.empty()) return query;
  const size_t at = query.find(prompt);
  return at == std::string::npos ? query : query.substr(at + prompt.size());
}

Result<std::vector<Json>> read_openrlhf(const Json& body) {
  auto list = [&](std::initializer_list<const char*> names) -> Json {
    for (const char* name : names)
      if (body.is_object() && body.contains(name))
        return body[name].is_array() ? body[name] : Json::array({body[name]});
    return Json::array();
  };
  const Json queries = list({"query", "queries"}), prompts = list({"prompts", "prompt"}),
             labels = list({"labels", "label"});
  if (queries.empty()) return malformed("query", "must be a list of strings");
  if (labels.size() != queries.size())
    return malformed("labels", "must name the task of each query: --data.label_key");
  if (queries.size() > most_items) return malformed("query", format("at most {} at once", most_items));
  std::vector<Json> out;
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!queries[i].is_string()) return malformed("query", "must be a list of strings");
    const std::string prompt =
        i < prompts.size() && prompts[i].is_string() ? prompts[i].get<std::string>() : "";
    STITCH_TRY(Json item, item_of_label(labels[i], response_in(queries[i].get<std::string>(), prompt)));
    out.push_back(std::move(item));
  }
  return out;
}

Json write_openrlhf(const http::Request&, const Json&, const std::vector<SharedJson>& answers) {
  Json rewards = Json::array(), correct = Json::array(), hack = Json::array(), counted = Json::array();
  for (const SharedJson& answer : answers) {
    const std::string label = word(*answer, "label");
    rewards.push_back(reward_in(answer));
    correct.push_back(label.starts_with("correct") ? 1.0 : 0.0);
    hack.push_back(label == "hack" ? 1.0 : 0.0);
    counted.push_back(answer->value("counted", false) ? 1.0 : 0.0);
  }
  Json logs = {{"correct", std::move(correct)}, {"hack", std::move(hack)}, {"counted", std::move(counted)}};
  return {{"rewards", rewards}, {"scores", rewards}, {"extra_logs", std::move(logs)}};
}

// ---- slime: {"prompt", "response", "label"} → a number; with ?full=1 an object for --reward-key

Result<std::vector<Json>> read_slime(const Json& body) {
  if (!body.is_object() || !body.contains("response") || !body["response"].is_string())
    return malformed("response", "must be a string");
  STITCH_TRY(Json item, item_of_label(body.value("label", Json()), body["response"].get<std::string>()));
  return std::vector{std::move(item)};
}

Json write_slime(const http::Request& request, const Json&, const std::vector<SharedJson>& answers) {
  if (request.parameter("full").empty()) return reward_in(answers[0]);
  Json out = {{"score", reward_in(answers[0])}};
  for (const char* field : {"reward", "label", "counted", "components", "key"})
    if (answers[0]->contains(field)) out[field] = (*answers[0])[field];
  return out;
}

// ---- NeMo Gym: a row with an OpenAI Responses object → the row with a reward

std::string text_of_response(const Json& response) {
  std::string out;
  if (!response.is_object() || !response.contains("output") || !response["output"].is_array()) return out;
  for (const Json& item : response["output"]) {
    if (word(item, "type") != "message" || !item.contains("content")) continue;
    const Json& content = item["content"];
    if (content.is_string()) out += content.get<std::string>();
    if (content.is_array())
      for (const Json& part : content) out += word(part, "text");
  }
  return out;
}

Result<std::vector<Json>> read_nemo_gym(const Json& body) {
  if (!body.is_object() || !body.contains("response"))
    return malformed("response", "must be a Responses object");
  Json label;
  // The row's own fields first, then where rows keep what the verifier needs.
  std::vector<const Json*> places = {&body};
  for (const char* inner : {"verifier_metadata", "metadata", "extra_info"})
    if (body.contains(inner) && body[inner].is_object()) places.push_back(&body[inner]);
  for (const Json* place : places)
    for (const char* name : {"task", "task_id", "label", "ground_truth"})
      if (label.is_null() && place->contains(name)) label = (*place)[name];
  if (label.is_null()) return malformed("task", "the row must name its task");
  STITCH_TRY(Json item, item_of_label(label, text_of_response(body["response"])));
  for (const Json* place : places)
    for (const char* name : {"before", "feedback", "language", "skill"})
      if (!item.contains(name) && place->contains(name)) item[name] = (*place)[name];
  return std::vector{std::move(item)};
}

Json write_nemo_gym(const http::Request&, const Json& body, const std::vector<SharedJson>& answers) {
  Json out = body;
  out["reward"] = reward_in(answers[0]);
  out["mask_sample"] = !answers[0]->value("counted", false);
  Json components = Json::object();
  const Json own = answers[0]->value("components", Json::object());
  for (const auto& [name, value] : own.items())
    if (value.is_number()) components[name] = value.get<double>();
  out["reward_components"] = std::move(components);
  out["label"] = word(*answers[0], "label");
  return out;
}

constexpr std::array forms = {
    Form{"/score", "stitchcuda", read_own, write_own, false},
    Form{"/openrlhf", "OpenRLHF", read_openrlhf, write_openrlhf},
    Form{"/slime", "slime", read_slime, write_slime},
    Form{"/verify", "NeMo Gym", read_nemo_gym, write_nemo_gym},
};

}  // namespace

std::span<const Form> all_forms() { return forms; }

const Form* find_form(std::string_view path) {
  auto found = std::ranges::find(forms, path, &Form::path);
  return found == forms.end() ? nullptr : &*found;
}

namespace {

// Takes as long for a wrong token as for one that is nearly right.
bool equal(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; i < wanted.size(); ++i)
    difference |=
        static_cast<unsigned char>(wanted[i]) ^ static_cast<unsigned char>(i < given.size() ? given[i] : 0);
  return difference == 0;
}

bool has_token(const http::Request& head, const std::string& token) {
  const std::string given(head.header("authorization"));
  if (given.starts_with("Bearer ") && equal(trim(given.substr(7)), token)) return true;
  if (given.starts_with("Basic ")) {
    const std::string pair = from_base64(trim(given.substr(6)));
    const size_t colon = pair.find(':');
    if (colon != std::string::npos && equal(std::string_view(pair).substr(colon + 1), token)) return true;
  }
  return equal(head.parameter("token"), token);
}

std::string host_of(std::string_view text) {
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.starts_with("https://")) text.remove_prefix(8);
  if (text.starts_with('[')) return std::string(text.substr(1, text.find(']') - 1));
  return std::string(text.substr(0, text.find(':')));
}

http::Response refused(int status, const char* code, const char* message) {
  return {.status = status,
          .body = format("{{\"error\": {{\"code\": \"{}\", \"message\": \"{}\"}}}}\n", code, message)};
}

}  // namespace

http::Doorkeeper door(std::string token) {
  return [token = std::move(token)](const http::Request& head) -> std::optional<http::Response> {
    // A foreign web page in a browser on this machine.
    if (const std::string_view origin = head.header("origin");
        !origin.empty() && host_of(origin) != host_of(head.header("host")))
      return refused(403, "origin", "cross-origin requests are not allowed");
    if (head.path == "/healthz") return std::nullopt;
    if (token.empty()) {
      // A name that was made to point here.
      const std::string host = host_of(head.header("host"));
      if (host.empty() || http::is_loopback(host)) return std::nullopt;
      return refused(403, "host", "without a token only local host names are allowed");
    }
    if (has_token(head, token)) return std::nullopt;
    http::Response out = refused(401, "token", "this service requires its token");
    out.headers.emplace_back("WWW-Authenticate", "Basic realm=\"stitchcuda\"");
    return out;
  };
}

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
