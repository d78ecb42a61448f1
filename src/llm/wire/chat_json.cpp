#include "llm/wire/chat_json.h"

#include <nlohmann/json.hpp>

#include "llm/wire/wire.h"

namespace stitch::llm {

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

}  // namespace stitch::llm
