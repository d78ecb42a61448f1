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

namespace {
Json calls_json(const std::vector<ToolCall>& calls) {
  Json out = Json::array();
  for (const ToolCall& call : calls)
    out.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return out;
}
}  // namespace

Json to_json(const Message& message) {
  Json out = {{"role", name(message.role)}, {"text", message.text}};
  if (!message.tool_calls.empty()) out["tool_calls"] = calls_json(message.tool_calls);
  if (!message.tool_call_id.empty()) out["tool_call_id"] = message.tool_call_id;
  if (message.failed) out["failed"] = true;
  if (message.reasoning_blocks) out["reasoning_blocks"] = *message.reasoning_blocks;
  return out;
}

Json to_json(const Request& request) {
  Json out = {{"messages", Json::array()}};
  for (const Message& message : request.messages) out["messages"].push_back(to_json(message));
  for (const ToolSpec& tool : request.tools)
    out["tools"].push_back(
        {{"name", tool.name}, {"description", tool.description}, {"schema", *tool.schema}});
  if (request.max_tokens) out["max_tokens"] = *request.max_tokens;
  if (request.temperature) out["temperature"] = *request.temperature;
  if (request.answer_schema) out["answer_schema"] = *request.answer_schema;
  return out;
}

Json to_json(const Usage& usage) {
  Json out = {{"input", usage.input},
              {"output", usage.output},
              {"cached", usage.cached},
              {"cache_write", usage.cache_write},
              {"reasoning", usage.reasoning}};
  if (usage.estimated) out["estimated"] = true;
  return out;
}

Usage usage_from_json(const Json& document) {
  auto estimated = document.find("estimated");
  return {.input = count_at(document, "input"),
          .output = count_at(document, "output"),
          .cached = count_at(document, "cached"),
          .cache_write = count_at(document, "cache_write"),
          .reasoning = count_at(document, "reasoning"),
          .estimated = estimated != document.end() && *estimated == true};
}

Json to_json(const Reply& reply) {
  Json out = {{"text", reply.text}};
  if (!reply.reasoning.empty()) out["reasoning"] = reply.reasoning;
  if (!reply.tool_calls.empty()) out["tool_calls"] = calls_json(reply.tool_calls);
  out["finish"] = name(reply.finish);
  out["usage"] = to_json(reply.usage);
  out["model"] = reply.model;
  if (reply.reasoning_blocks) out["reasoning_blocks"] = *reply.reasoning_blocks;
  out["seconds"] = reply.seconds;
  return out;
}

Result<Reply> reply_from_json(const Json& document) {
  auto text = document.find("text");
  if (text == document.end() || !text->is_string())
    return user_error("llm_replay", "a recorded reply has no \"text\"");
  Reply out{.text = text->get<std::string>(),
            .reasoning = word(document, "reasoning"),
            .finish = parse_finish(word(document, "finish")).value_or(Finish::other),
            .usage = usage_from_json(object_at(document, "usage")),
            .model = word(document, "model")};
  if (auto calls = document.find("tool_calls"); calls != document.end() && calls->is_array())
    for (const Json& call : *calls)
      out.tool_calls.push_back({word(call, "id"), word(call, "name"), word(call, "arguments")});
  if (auto blocks = document.find("reasoning_blocks"); blocks != document.end())
    out.reasoning_blocks = std::make_shared<const Json>(*blocks);
  if (auto seconds = document.find("seconds"); seconds != document.end() && seconds->is_number())
    out.seconds = seconds->get<double>();
  return out;
}

Result<void> SseParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // the second half of CRLF
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    pending_ += bytes.substr(0, end);
    if (pending_.size() + event_.data.size() > limit_)
      return work_error("llm_too_large", format("one event of the answer is larger than {} bytes", limit_));
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string whole = std::exchange(pending_, {});
    STITCH_CHECK(line(whole));
  }
  return {};
}

Result<void> SseParser::line(std::string_view text) {
  if (std::exchange(at_start_, false) && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) {
    const SseEvent whole = std::exchange(event_, SseEvent{.name = "message", .data = {}});
    return std::exchange(has_data_, false) ? on_event_(whole) : Result<void>();
  }
  const size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
  return {};
}

namespace {
constexpr std::string_view open_tag = "<think>", close_tag = "</think>";
constexpr std::string_view blanks = " \t\r\n";

// How many of the last characters could be the beginning of `tag`.
size_t partial(std::string_view text, std::string_view tag) {
  for (size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length)
    if (text.ends_with(tag.substr(0, length))) return length;
  return 0;
}
}  // namespace

ThinkSplitter::Pieces ThinkSplitter::add(std::string_view piece) {
  Pieces out;
  held_ += piece;
  if (state_ == State::start) {
    const size_t first = held_.find_first_not_of(blanks);
    if (first == std::string::npos) return out;
    const std::string_view begun = std::string_view(held_).substr(first);
    if (begun.starts_with(open_tag)) {
      held_.erase(0, first + open_tag.size());
      state_ = State::thinking;
    } else if (open_tag.starts_with(begun)) {
      return out;
    } else {
      state_ = State::answer;
    }
  }
  if (state_ == State::thinking) {
    const size_t close = held_.find(close_tag);
    if (close == std::string::npos) {
      const size_t safe = held_.size() - partial(held_, close_tag);
      out.reasoning = held_.substr(0, safe);
      held_.erase(0, safe);
      return out;
    }
    out.reasoning = held_.substr(0, close);
    held_.erase(0, close + close_tag.size());
    state_ = State::after;
  }
  if (state_ == State::after) {
    held_.erase(0, std::min(held_.find_first_not_of(blanks), held_.size()));
    if (held_.empty()) return out;
    state_ = State::answer;
  }
  out.text = std::exchange(held_, {});
  return out;
}

ThinkSplitter::Pieces ThinkSplitter::end() {
  std::string rest = std::exchange(held_, {});
  return state_ == State::thinking ? Pieces{{}, std::move(rest)} : Pieces{std::move(rest), {}};
}

Result<void> ReplyDraft::count(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limit_)
    return work_error("llm_too_large", format("the model's answer is larger than {} bytes", limit_));
  return {};
}

void ReplyDraft::take(ThinkSplitter::Pieces pieces) {
  reply_.reasoning += pieces.reasoning;
  reply_.text += pieces.text;
  if (!pieces.reasoning.empty() && options_.on_reasoning) options_.on_reasoning(pieces.reasoning);
  if (!pieces.text.empty() && options_.on_text) options_.on_text(pieces.text);
}

namespace {
// Small models can say the same until their limit of tokens, for minutes.
Result<void> check_for_loop(std::string_view text, size_t added) {
  constexpr size_t looked_at = 4096, most_often = 512, times = 8;
  if (text.size() < looked_at || text.size() / most_often == (text.size() - added) / most_often) return {};
  text.remove_prefix(text.size() - looked_at);
  for (size_t period = 1; period <= looked_at / times; ++period)
    if (text.substr(period) == text.substr(0, looked_at - period))
      return work_error("llm_answer", format("the answer repeats '{}' without end",
                                             shorten(printable(std::string(text.substr(0, period))), 60)));
  return {};
}
}  // namespace

Result<void> ReplyDraft::add_text(std::string_view piece) {
  STITCH_CHECK(count(piece.size()));
  const size_t before = reply_.text.size();
  take(splitter_.add(piece));
  return check_for_loop(reply_.text, reply_.text.size() - before);
}

Result<void> ReplyDraft::add_reasoning(std::string_view piece) {
  STITCH_CHECK(count(piece.size()));
  take({{}, std::string(piece)});
  return check_for_loop(reply_.reasoning, piece.size());
}

Result<void> ReplyDraft::add_call(int index, std::string_view id, std::string_view name,
                                  std::string_view arguments) {
  STITCH_CHECK(
      count(id.size() + name.size() + arguments.size() + 1));  // + 1: empty calls can't go on for ever
  ToolCall& call = calls_[index];
  if (call.id.empty()) call.id = id;
  if (call.name.empty()) call.name = name;
  call.arguments += arguments;
  return {};
}

Reply ReplyDraft::end() {
  take(splitter_.end());
  // Where the prompt's template opened the tag, only its end is in the answer.
  if (size_t close = reply_.text.find(close_tag);
      close != std::string::npos && reply_.text.find(open_tag) >= close) {
    reply_.reasoning += reply_.text.substr(0, close);
    const size_t answer = reply_.text.find_first_not_of(blanks, close + close_tag.size());
    reply_.text.erase(0, std::min(answer, reply_.text.size()));
  }
  for (auto& [index, call] : calls_) {
    if (call.id.empty()) call.id = format("call_{}", index);  // some servers name none, but want one back
    reply_.tool_calls.push_back(std::move(call));
  }
  if (!reply_.tool_calls.empty() && reply_.finish == Finish::stop) reply_.finish = Finish::tool_calls;
  return std::move(reply_);
}

}  // namespace stitch::llm
