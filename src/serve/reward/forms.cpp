#include "serve/reward/forms.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "http/message.h"
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

}  // namespace stitch::serve
