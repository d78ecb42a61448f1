// OpenAI's Responses API. Nothing is stored at the server: every request has the whole conversation.
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/terminal.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

constexpr const char* sealed = "encrypted_content";

void add_items(Json& input, const Message& message) {
  if (message.role == Role::tool) {
    input.push_back(
        {{"type", "function_call_output"}, {"call_id", message.tool_call_id}, {"output", message.text}});
    return;
  }
  // Of a conversation that began with another API the reasoning has another form.
  if (message.reasoning_blocks)
    for (const Json& block : *message.reasoning_blocks)
      if (block.is_object() && word(block, "type") == "reasoning" && block.contains(sealed))
        input.push_back(block);
  if (!message.text.empty() || message.tool_calls.empty())
    input.push_back({{"role", name(message.role)}, {"content", message.text}});
  for (const ToolCall& call : message.tool_calls)
    input.push_back({{"type", "function_call"},
                     {"call_id", call.id},
                     {"name", call.name},
                     {"arguments", call.arguments.empty() ? "{}" : call.arguments}});
}

class ResponsesReader final : public ReplyReader {
 public:
  ResponsesReader(const AskOptions& options, size_t limit) : draft_(options, limit) {}

  Result<void> event(const SseEvent& event) override {
    if (event.data.empty() || event.data == "[DONE]") return {};
    STITCH_TRY(const Json body, event_object(event, begun_));
    begun_ = true;
    const std::string type = word(body, "type");
    const int index = static_cast<int>(std::min<int64_t>(count_at(body, "output_index"), 1 << 20));
    if (type == "response.output_text.delta") return draft_.add_text(word(body, "delta"));
    if (type == "response.refusal.delta") {
      draft_.reply().finish = Finish::refused;
      return draft_.add_text(word(body, "delta"));
    }
    if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta")
      return draft_.add_reasoning(word(body, "delta"));
    if (type == "response.output_item.added") {
      const Json& item = object_at(body, "item");
      if (word(item, "type") != "function_call") return {};
      return draft_.add_call(index, word(item, "call_id"), word(item, "name"), "");
    }
    if (type == "response.function_call_arguments.delta") {
      in_pieces_.insert(index);
      return draft_.add_call(index, "", "", word(body, "delta"));
    }
    if (type == "response.output_item.done") return take_done(index, object_at(body, "item"));
    if (type == "response.completed" || type == "response.incomplete" || type == "response.failed")
      return take_end(object_at(body, "response"), draft_.bytes() == 0 && draft_.calls() == 0);
    if (type == "error") return failure(object_at(body, "error").empty() ? body : object_at(body, "error"));
    return {};
  }

  Result<void> whole(const Json& body) override {
    if (!body.contains("output") && !body.contains("error"))
      return work_error("llm_format", "the answer is JSON, but not a response: it has no \"output\"");
    return take_end(body, true);
  }

  Result<Reply> end() override {
    if (!ended_) return dropped("the stream ended before the response was completed");
    Reply out = draft_.end();
    if (!reasoning_.empty()) out.reasoning_blocks = std::make_shared<const Json>(std::move(reasoning_));
    return out;
  }

 private:
  static Error failure(const Json& error) {
    const std::string shown = shorten(printable(error_message(error)), 300);
    if (word(error, "code") == "rate_limit_exceeded")
      return work_error("llm_rate_limit", "the server says: " + shown);
    return work_error("llm_server", "the server cut off its answer: " + shown);
  }

  // An item of the output as it is in the end; its text was streamed.
  Result<void> take_done(int index, const Json& item) {
    const std::string type = word(item, "type");
    if (type == "reasoning" && item.contains(sealed) && item[sealed].is_string()) {
      Json block = {{"type", type}, {"summary", item.value("summary", Json::array())}};
      if (item.contains("id")) block["id"] = item["id"];
      block[sealed] = item[sealed];
      reasoning_.push_back(std::move(block));
    }
    if (type == "function_call" && !in_pieces_.contains(index))
      return draft_.add_call(index, word(item, "call_id"), word(item, "name"), word(item, "arguments"));
    return {};
  }

  // An item that was not streamed.
  Result<void> take_item(int index, const Json& item) {
    const std::string type = word(item, "type");
    if (type == "reasoning")
      for (const char* key : {"summary", "content"})
        if (auto parts = item.find(key); parts != item.end() && parts->is_array())
          for (const Json& part : *parts)
            if (part.is_object()) STITCH_CHECK(draft_.add_reasoning(word(part, "text")));
    if (type == "message")
      if (auto parts = item.find("content"); parts != item.end() && parts->is_array())
        for (const Json& part : *parts) {
          if (!part.is_object()) continue;
          if (part.contains("refusal")) draft_.reply().finish = Finish::refused;
          STITCH_CHECK(draft_.add_text(word(part, part.contains("refusal") ? "refusal" : "text")));
        }
    return take_done(index, item);
  }

  Result<void> take_end(const Json& response, bool with_output) {
    if (const Json& error = object_at(response, "error"); !error.empty()) return failure(error);
    ended_ = true;
    Reply& reply = draft_.reply();
    if (std::string model = word(response, "model"); !model.empty()) reply.model = model;
    const Json& usage = object_at(response, "usage");
    reply.usage.input = count_at(usage, "input_tokens");
    reply.usage.output = count_at(usage, "output_tokens");
    reply.usage.cached = count_at(object_at(usage, "input_tokens_details"), "cached_tokens");
    reply.usage.reasoning = count_at(object_at(usage, "output_tokens_details"), "reasoning_tokens");
    auto output = response.find("output");
    if (with_output && output != response.end() && output->is_array()) {
      int index = 0;
      for (const Json& item : *output) {
        if (item.is_object()) STITCH_CHECK(take_item(index, item));
        ++index;
      }
    }
    const std::string status = word(response, "status");
    const std::string why = word(object_at(response, "incomplete_details"), "reason");
    if (why == "max_output_tokens")
      reply.finish = Finish::length;
    else if (why == "content_filter")
      reply.finish = Finish::refused;
    else if (reply.finish != Finish::refused)
      reply.finish = status == "completed" ? Finish::stop : Finish::other;
    return {};
  }

  ReplyDraft draft_;
  Json reasoning_ = Json::array();  // as it goes back beside tool calls
  std::set<int> in_pieces_;         // calls whose arguments were streamed
  bool ended_ = false, begun_ = false;
};

// Only these have reasoning to give back; the others refuse to be asked for it.
bool has_reasoning(std::string_view model) {
  if (const size_t slash = model.rfind('/'); slash != std::string_view::npos) model.remove_prefix(slash + 1);
  return model.starts_with("gpt-5") || model.starts_with("o3") || model.starts_with("o4");
}

class ResponsesWire final : public Wire {
 public:
  std::string path() const override { return "/responses"; }
  http::Headers headers(const std::string& key) const override { return openai_wire().headers(key); }

  Json body(const Profile& profile, const Request& request) const override {
    Json out = {{"model", profile.model}, {"input", Json::array()}, {"store", false}};
    for (const Message& message : request.messages) add_items(out["input"], message);
    for (const ToolSpec& tool : request.tools)
      out["tools"].push_back({{"type", "function"},
                              {"name", tool.name},
                              {"description", tool.description},
                              {"parameters", *tool.schema},
                              {"strict", false}});
    if (!request.tools.empty() && has_reasoning(profile.model))
      out["include"] = {"reasoning.encrypted_content"};
    out["max_output_tokens"] = allowed_tokens(profile, request);
    if (auto temperature = allowed_temperature(profile, request)) out["temperature"] = *temperature;
    if (request.answer_schema && profile.json_schema)
      out["text"] = {{"format",
                      {{"type", "json_schema"},
                       {"name", "answer"},
                       {"schema", *request.answer_schema},
                       {"strict", false}}}};
    if (profile.stream) out["stream"] = true;
    add_extra(out, profile);
    return out;
  }

  std::unique_ptr<ReplyReader> reader(const AskOptions& options, size_t limit) const override {
    return std::make_unique<ResponsesReader>(options, limit);
  }
};

}  // namespace

const Wire& responses_wire() {
  static const ResponsesWire wire;
  return wire;
}

}  // namespace stitch::llm
