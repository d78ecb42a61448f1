// Anthropic's messages API.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

constexpr int most_breakpoints = 4;  // that the API takes

Json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

Json input_of(const ToolCall& call) {
  if (auto parsed = parse_json(call.arguments); parsed && parsed->is_object()) return std::move(*parsed);
  if (call.arguments.empty()) return Json::object();
  return {{"unreadable_arguments", call.arguments}};  // the API takes objects only
}

Json blocks_of(const Message& message) {
  Json blocks = Json::array();
  if (message.role == Role::tool) {
    Json result = {{"type", "tool_result"}, {"tool_use_id", message.tool_call_id}, {"content", message.text}};
    if (message.failed) result["is_error"] = true;
    blocks.push_back(std::move(result));
    return blocks;
  }
  if (message.reasoning_blocks)
    for (const Json& block : *message.reasoning_blocks) blocks.push_back(block);
  if (!message.text.empty()) blocks.push_back(text_block(message.text));  // empty ones are refused
  for (const ToolCall& call : message.tool_calls)
    blocks.push_back({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(call)}});
  if (blocks.empty()) blocks.push_back(text_block("(nothing)"));
  return blocks;
}

// The system's text apart; results of tools are a user's, and those of one turn are one message.
void add_messages(Json& body, const std::vector<Message>& messages) {
  const auto hints = std::ranges::count_if(messages, [](const Message& one) { return one.cache; });
  int64_t skipped = std::max<int64_t>(0, hints - most_breakpoints);  // the later ones reach furthest
  Json system = Json::array(), turns = Json::array();
  for (const Message& message : messages) {
    Json blocks = blocks_of(message);
    if (message.cache && skipped-- <= 0) blocks.back()["cache_control"] = {{"type", "ephemeral"}};
    Json* target = &system;
    if (message.role != Role::system) {
      const char* role = message.role == Role::assistant ? "assistant" : "user";
      if (turns.empty() || turns.back()["role"] != role)
        turns.push_back({{"role", role}, {"content", Json::array()}});
      target = &turns.back()["content"];
    }
    for (Json& block : blocks) target->push_back(std::move(block));
  }
  if (!system.empty()) body["system"] = std::move(system);
  body["messages"] = std::move(turns);
}

Finish finish_of(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return Finish::stop;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return Finish::length;
  if (reason == "tool_use") return Finish::tool_calls;
  if (reason == "refusal") return Finish::refused;
  return Finish::other;
}

class AnthropicReader final : public ReplyReader {
 public:
  AnthropicReader(const AskOptions& options, size_t limit) : draft_(options, limit) {}

  Result<void> event(const SseEvent& event) override {
    STITCH_TRY(const Json body, event_object(event, begun_));
    begun_ = true;
    const std::string type = word(body, "type");
    if (type == "message_start") {
      const Json& message = object_at(body, "message");
      draft_.reply().model = word(message, "model");
      take_usage(object_at(message, "usage"));
    } else if (type == "content_block_start") {
      return start_block(index_of(body), object_at(body, "content_block"));
    } else if (type == "content_block_delta") {
      return take_delta(index_of(body), object_at(body, "delta"));
    } else if (type == "message_delta") {
      take_reason(word(object_at(body, "delta"), "stop_reason"));
      take_usage(object_at(body, "usage"));
    } else if (type == "message_stop") {
      done_ = true;
    } else if (type == "error") {
      return in_stream(body);
    }
    return {};  // ping, content_block_stop, and what is yet to be invented
  }

  Result<void> whole(const Json& body) override {
    if (word(body, "type") == "error") return in_stream(body);
    auto content = body.find("content");
    if (content == body.end() || !content->is_array())
      return work_error("llm_format", "the answer is JSON, but not a message: it has no \"content\"");
    done_ = true;
    draft_.reply().model = word(body, "model");
    take_usage(object_at(body, "usage"));
    take_reason(word(body, "stop_reason"));
    int index = 0;
    for (const Json& block : *content) STITCH_CHECK(start_block(index++, block));
    return {};
  }

  Result<Reply> end() override {
    if (!done_) return dropped("the stream ended before message_stop");
    Json blocks = Json::array();
    for (auto& [index, block] : thinking_) blocks.push_back(std::move(block));
    Reply reply = draft_.end();
    if (!blocks.empty()) reply.reasoning_blocks = std::make_shared<const Json>(std::move(blocks));
    return reply;
  }

 private:
  static int index_of(const Json& body) {
    return static_cast<int>(std::min<int64_t>(count_at(body, "index"), 1 << 20));
  }

  static Error in_stream(const Json& body) {
    const std::string type = word(object_at(body, "error"), "type");
    const std::string message = "the server says: " + shorten(printable(error_message(body)), 300);
    if (type == "rate_limit_error") return work_error("llm_rate_limit", message);
    if (type == "invalid_request_error") return user_error("llm_request", message);
    return work_error("llm_server", message);  // overloaded_error, api_error
  }

  void take_usage(const Json& usage) {
    Usage& out = draft_.reply().usage;
    if (usage.contains("input_tokens")) {
      out.cached = count_at(usage, "cache_read_input_tokens");
      out.cache_write = count_at(usage, "cache_creation_input_tokens");
      out.input = count_at(usage, "input_tokens") + out.cached + out.cache_write;
    }
    if (usage.contains("output_tokens")) {
      out.output = count_at(usage, "output_tokens");
      out.reasoning = count_at(object_at(usage, "output_tokens_details"), "thinking_tokens");
    }
  }

  void take_reason(const std::string& reason) {
    if (!reason.empty()) draft_.reply().finish = finish_of(reason);
  }

  // In a stream it starts empty and deltas follow; in a whole message everything is there.
  Result<void> start_block(int index, const Json& block) {
    const std::string type = word(block, "type");
    if (type == "text") return draft_.add_text(word(block, "text"));
    if (type == "thinking" || type == "redacted_thinking") {
      thinking_[index] = block;
      return draft_.add_reasoning(word(block, "thinking"));
    }
    if (type == "tool_use") {
      auto input = block.find("input");
      const bool full = input != block.end() && input->is_object() && !input->empty();
      return draft_.add_call(index, word(block, "id"), word(block, "name"), full ? input->dump() : "");
    }
    return {};
  }

  Result<void> take_delta(int index, const Json& delta) {
    const std::string type = word(delta, "type");
    if (type == "text_delta") return draft_.add_text(word(delta, "text"));
    if (type == "input_json_delta") return draft_.add_call(index, {}, {}, word(delta, "partial_json"));
    const char* key = type == "thinking_delta"    ? "thinking"
                      : type == "signature_delta" ? "signature"
                                                  : nullptr;
    if (!key || !thinking_.contains(index)) return {};
    Json& text = thinking_[index][key];
    if (!text.is_string()) text = "";
    text.get_ref<std::string&>() += word(delta, key);
    return type == "thinking_delta" ? draft_.add_reasoning(word(delta, key)) : Result<void>();
  }

  ReplyDraft draft_;
  std::map<int, Json> thinking_;
  bool done_ = false, begun_ = false;
};

class AnthropicWire final : public Wire {
 public:
  std::string path() const override { return "/messages"; }

  http::Headers headers(const std::string& key) const override {
    http::Headers out = {{"anthropic-version", "2023-06-01"}};
    if (!key.empty()) out.emplace_back("x-api-key", key);
    return out;
  }

  Json body(const Profile& profile, const Request& request) const override {
    Json out = {{"model", profile.model}, {"max_tokens", allowed_tokens(profile, request)}};
    add_messages(out, request.messages);
    for (const ToolSpec& tool : request.tools)
      out["tools"].push_back(
          {{"name", tool.name}, {"description", tool.description}, {"input_schema", *tool.schema}});
    if (auto temperature = allowed_temperature(profile, request)) out["temperature"] = *temperature;
    if (request.answer_schema && profile.json_schema)
      out["output_config"] = {{"format", {{"type", "json_schema"}, {"schema", *request.answer_schema}}}};
    if (profile.stream) out["stream"] = true;
    add_extra(out, profile);
    return out;
  }

  std::unique_ptr<ReplyReader> reader(const AskOptions& options, size_t limit) const override {
    return std::make_unique<AnthropicReader>(options, limit);
  }
};

}  // namespace

const Wire& anthropic_wire() {
  static const AnthropicWire wire;
  return wire;
}

}  // namespace stitch::llm
