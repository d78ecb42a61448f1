// Chat completions, as older models of OpenAI, vLLM, SGLang, llama.cpp, Ollama and OpenRouter speak it.
#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

Json call_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments.empty() ? "{}" : call.arguments}}}};
}

Json message_json(const Message& message, bool cache_control) {
  Json out = {{"role", name(message.role)}};
  if (message.cache && cache_control)
    out["content"] =
        Json::array({{{"type", "text"}, {"text", message.text}, {"cache_control", {{"type", "ephemeral"}}}}});
  else if (message.role == Role::assistant && message.text.empty() && !message.tool_calls.empty())
    out["content"] = nullptr;
  else
    out["content"] = message.text;
  if (message.role == Role::tool) out["tool_call_id"] = message.tool_call_id;
  for (const ToolCall& call : message.tool_calls) out["tool_calls"].push_back(call_json(call));
  return out;
}

Finish openai_finish(const std::string& reason) {
  if (reason == "stop" || reason == "eos" || reason == "end_turn") return Finish::stop;
  if (reason == "length" || reason == "max_tokens") return Finish::length;
  if (reason == "tool_calls" || reason == "function_call") return Finish::tool_calls;
  if (reason == "content_filter" || reason == "refusal") return Finish::refused;
  return Finish::other;
}

class OpenAiReader final : public ReplyReader {
 public:
  OpenAiReader(const AskOptions& options, size_t limit) : draft_(options, limit) {}

  Result<void> event(const SseEvent& event) override {
    if (event.data == "[DONE]") {
      done_ = true;
      return {};
    }
    if (event.data.empty()) return {};
    STITCH_TRY(const Json body, event_object(event, begun_));
    begun_ = true;
    return take(body, "delta");
  }

  Result<void> whole(const Json& body) override {
    done_ = true;
    if (!body.contains("choices") && !body.contains("error"))
      return work_error("llm_format", "the answer is JSON, but not a chat completion: it has no \"choices\"");
    return take(body, "message");
  }

  Result<Reply> end() override {
    if (!done_ && !finished_) return dropped("the stream ended without a finish reason");
    return draft_.end();
  }

 private:
  Result<void> take(const Json& body, const char* part) {
    if (auto error = body.find("error"); error != body.end() && !error->is_null())
      return in_stream(*error, error_message(body));
    if (std::string model = word(body, "model"); !model.empty()) draft_.reply().model = model;
    if (auto usage = body.find("usage"); usage != body.end() && usage->is_object()) take_usage(*usage);
    auto choices = body.find("choices");
    if (choices == body.end() || !choices->is_array()) return {};
    for (const Json& choice : *choices) {
      if (!choice.is_object() || count_at(choice, "index") > 0) continue;  // we ask for one
      STITCH_CHECK(take_message(object_at(choice, part)));
      if (auto reason = word(choice, "finish_reason"); !reason.empty()) {
        finished_ = true;
        if (draft_.reply().finish != Finish::refused) draft_.reply().finish = openai_finish(reason);
      }
    }
    return {};
  }

  // OpenRouter and vLLM send errors inside a stream whose status was 200 long ago.
  static Error in_stream(const Json& error, const std::string& message) {
    const std::string shown = shorten(printable(message), 300);
    auto code = error.find("code");
    if (code != error.end() && *code == 429) return work_error("llm_rate_limit", "the server says: " + shown);
    return work_error("llm_server", "the server cut off its answer: " + shown);
  }

  void take_usage(const Json& usage) {
    Usage& out = draft_.reply().usage;
    out.input = count_at(usage, "prompt_tokens");
    out.output = count_at(usage, "completion_tokens");
    out.cached = std::max(count_at(object_at(usage, "prompt_tokens_details"), "cached_tokens"),
                          count_at(usage, "prompt_cache_hit_tokens"));  // DeepSeek's
    out.reasoning = count_at(object_at(usage, "completion_tokens_details"), "reasoning_tokens");
  }

  Result<void> take_message(const Json& message) {
    for (const char* key : {"reasoning_content", "reasoning"})
      if (std::string piece = word(message, key); !piece.empty()) {
        STITCH_CHECK(draft_.add_reasoning(piece));
        break;  // some servers send it under both names
      }
    auto content = message.find("content");
    if (content != message.end() && content->is_string())
      STITCH_CHECK(draft_.add_text(content->get_ref<const std::string&>()));
    if (content != message.end() && content->is_array())
      for (const Json& piece : *content) STITCH_CHECK(draft_.add_text(word(piece, "text")));
    if (std::string refusal = word(message, "refusal"); !refusal.empty()) {
      STITCH_CHECK(draft_.add_text(refusal));
      draft_.reply().finish = Finish::refused;
    }
    auto calls = message.find("tool_calls");
    if (calls != message.end() && calls->is_array())
      for (const Json& call : *calls) STITCH_CHECK(take_call(call));
    return {};
  }

  Result<void> take_call(const Json& call) {
    const std::string id = word(call, "id");
    auto given = call.find("index");
    int index = static_cast<int>(draft_.calls());  // no index: a new id is a new call
    if (given != call.end() && given->is_number_integer())
      index = static_cast<int>(std::min<int64_t>(count_at(call, "index"), 1 << 20));
    else if (id.empty() && index > 0)
      --index;
    const Json& function = object_at(call, "function");
    auto arguments = function.find("arguments");
    std::string text;
    if (arguments != function.end() && !arguments->is_null())  // Ollama's own form is an object
      text = arguments->is_string() ? arguments->get<std::string>() : arguments->dump();
    return draft_.add_call(index, id, word(function, "name"), text);
  }

  ReplyDraft draft_;
  bool done_ = false, finished_ = false, begun_ = false;
};

class OpenAiWire final : public Wire {
 public:
  std::string path() const override { return "/chat/completions"; }

  http::Headers headers(const std::string& key) const override {
    if (key.empty()) return {};
    return {{"Authorization", "Bearer " + key}};
  }

  Json body(const Profile& profile, const Request& request) const override {
    Json out = {{"model", profile.model}, {"messages", Json::array()}};
    for (const Message& message : request.messages)
      out["messages"].push_back(message_json(message, profile.cache_control));
    for (const ToolSpec& tool : request.tools)
      out["tools"].push_back(
          {{"type", "function"},
           {"function",
            {{"name", tool.name}, {"description", tool.description}, {"parameters", *tool.schema}}}});
    out[profile.max_completion_tokens ? "max_completion_tokens" : "max_tokens"] =
        allowed_tokens(profile, request);
    if (auto temperature = allowed_temperature(profile, request)) out["temperature"] = *temperature;
    if (request.answer_schema && profile.json_schema)
      out["response_format"] = {{"type", "json_schema"},
                                {"json_schema", {{"name", "answer"}, {"schema", *request.answer_schema}}}};
    if (profile.stream) {
      out["stream"] = true;
      out["stream_options"] = {{"include_usage", true}};
    }
    add_extra(out, profile);
    return out;
  }

  std::unique_ptr<ReplyReader> reader(const AskOptions& options, size_t limit) const override {
    return std::make_unique<OpenAiReader>(options, limit);
  }
};

}  // namespace

const Wire& openai_wire() {
  static const OpenAiWire wire;
  return wire;
}

}  // namespace stitch::llm
