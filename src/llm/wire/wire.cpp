#include "llm/wire/wire.h"

#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "llm/account.h"

namespace stitch::llm {

namespace {
constexpr int64_t fewest_answer_tokens = 256;
}

const Wire& wire_of(Api api) {
  switch (api) {
    case Api::openai: return openai_wire();
    case Api::responses: return responses_wire();
    case Api::anthropic: return anthropic_wire();
  }
  throw Bug("an API without a wire");
}

int64_t allowed_tokens(const Profile& profile, const Request& request) {
  int64_t tokens = request.max_tokens.value_or(most_answer_tokens(profile));
  // Servers refuse a prompt and an answer that exceed the context together.
  if (profile.context)
    tokens = std::min(tokens, std::max(fewest_answer_tokens, *profile.context - estimated_tokens(request)));
  return tokens;
}

std::optional<double> allowed_temperature(const Profile& profile, const Request& request) {
  const bool refused = profile.api != Api::openai || profile.max_completion_tokens;
  if (refused && !profile.temperature) return std::nullopt;
  return request.temperature ? request.temperature : profile.temperature;
}

void add_extra(Json& body, const Profile& profile) {
  if (!profile.extra) return;
  for (const auto& [key, value] : profile.extra->items()) body[key] = value;
}

int64_t count_at(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value > 0 && value < 1e15 ? static_cast<int64_t>(value) : 0;
}

const Json& object_at(const Json& object, const char* key) {
  static const Json nothing = Json::object();
  auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : nothing;
}

Error dropped(std::string_view why) {
  return work_error("llm_dropped", format("the answer was cut off: {}", why));
}

Result<Json> event_object(const SseEvent& event, bool begun) {
  auto parsed = parse_json(event.data);
  if (parsed && parsed->is_object()) return std::move(*parsed);
  const std::string start = shorten(printable(event.data), 80);
  if (begun) return dropped(format("an event is no JSON object: {}", start));
  return work_error("llm_format", format("an event of the answer is not a JSON object: {}", start));
}

std::string error_message(const Json& body) {
  auto error = body.find("error");
  const Json& inner = error != body.end() ? *error : body;
  if (inner.is_string()) return inner.get<std::string>();
  for (const char* key : {"message", "detail", "error"}) {
    auto found = inner.find(key);
    if (found == inner.end() || found->is_null()) continue;
    return found->is_string() ? found->get<std::string>() : line_text(*found);
  }
  return line_text(inner);
}

}  // namespace stitch::llm
