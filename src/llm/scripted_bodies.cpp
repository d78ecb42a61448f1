#include "llm/scripted_server.h"

#include <nlohmann/json.hpp>

namespace stitch::llm {

namespace {

std::string openai_event(const Json& body) { return "data: " + line_text(body) + "\n\n"; }
std::string anthropic_event(const Json& body) {
  return format("event: {}\ndata: {}\n\n", body.at("type").get<std::string>(), line_text(body));
}

// About `count` pieces, never inside a UTF-8 character.
std::vector<std::string> pieces_of(const std::string& text, int count) {
  std::vector<std::string> out;
  const size_t size = std::max<size_t>(1, (text.size() + count - 1) / std::max(1, count));
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.size(), at + size);
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

Json openai_usage(const Usage& usage) {
  return {{"prompt_tokens", usage.input},
          {"completion_tokens", usage.output},
          {"total_tokens", usage.total()},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning}}}};
}

Json anthropic_usage(const Usage& usage) {
  return {{"input_tokens", usage.input - usage.cached - usage.cache_write},
          {"cache_read_input_tokens", usage.cached},
          {"cache_creation_input_tokens", usage.cache_write},
          {"output_tokens", usage.output},
          {"output_tokens_details", {{"thinking_tokens", usage.reasoning}}}};
}

std::string openai_reason(Finish finish) {
  return finish == Finish::refused ? "content_filter" : std::string(name(finish));
}

std::string anthropic_reason(Finish finish) {
  switch (finish) {
    case Finish::length: return "max_tokens";
    case Finish::tool_calls: return "tool_use";
    case Finish::refused: return "refusal";
    default: return "end_turn";
  }
}

Json openai_call(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json input_of(const ToolCall& call) {
  auto parsed = parse_json(call.arguments);
  return parsed ? std::move(*parsed) : Json::object();
}

}  // namespace

std::string openai_document(const Reply& reply) {
  Json message = {{"role", "assistant"}, {"content", reply.text}};
  if (!reply.reasoning.empty()) message["reasoning_content"] = reply.reasoning;
  for (const ToolCall& call : reply.tool_calls) message["tool_calls"].push_back(openai_call(call));
  return line_text(
      {{"id", "chatcmpl-1"},
       {"object", "chat.completion"},
       {"model", reply.model},
       {"choices",
        Json::array({{{"index", 0}, {"message", message}, {"finish_reason", openai_reason(reply.finish)}}})},
       {"usage", openai_usage(reply.usage)}});
}

std::vector<std::string> openai_events(const Reply& reply, int pieces) {
  std::vector<std::string> out;
  auto add = [&](Json delta, Json reason = nullptr) {
    out.push_back(openai_event(
        {{"id", "chatcmpl-1"},
         {"object", "chat.completion.chunk"},
         {"model", reply.model},
         {"choices",
          Json::array({{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(reason)}}})},
         {"usage", nullptr}}));
  };
  add({{"role", "assistant"}, {"content", ""}});
  for (const std::string& piece : pieces_of(reply.reasoning, pieces)) add({{"reasoning_content", piece}});
  for (const std::string& piece : pieces_of(reply.text, pieces)) add({{"content", piece}});
  for (size_t i = 0; i < reply.tool_calls.size(); ++i) {
    Json start = openai_call(reply.tool_calls[i]);
    start["index"] = i;
    start["function"]["arguments"] = "";
    add({{"tool_calls", Json::array({start})}});
    for (const std::string& piece : pieces_of(reply.tool_calls[i].arguments, pieces))
      add({{"tool_calls", Json::array({{{"index", i}, {"function", {{"arguments", piece}}}}})}});
  }
  add(Json::object(), openai_reason(reply.finish));
  out.push_back(openai_event({{"id", "chatcmpl-1"},
                              {"object", "chat.completion.chunk"},
                              {"model", reply.model},
                              {"choices", Json::array()},
                              {"usage", openai_usage(reply.usage)}}));
  out.push_back("data: [DONE]\n\n");
  return out;
}

std::string anthropic_document(const Reply& reply) {
  Json content = Json::array();
  if (!reply.reasoning.empty())
    content.push_back({{"type", "thinking"}, {"thinking", reply.reasoning}, {"signature", "signed"}});
  if (!reply.text.empty()) content.push_back({{"type", "text"}, {"text", reply.text}});
  for (const ToolCall& call : reply.tool_calls)
    content.push_back(
        {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", input_of(call)}});
  return line_text({{"id", "msg_1"},
                    {"type", "message"},
                    {"role", "assistant"},
                    {"model", reply.model},
                    {"content", content},
                    {"stop_reason", anthropic_reason(reply.finish)},
                    {"usage", anthropic_usage(reply.usage)}});
}

std::vector<std::string> anthropic_events(const Reply& reply, int pieces) {
  std::vector<std::string> out;
  Json usage = anthropic_usage(reply.usage);
  usage["output_tokens"] = 1;
  out.push_back(anthropic_event({{"type", "message_start"},
                                 {"message",
                                  {{"id", "msg_1"},
                                   {"type", "message"},
                                   {"role", "assistant"},
                                   {"model", reply.model},
                                   {"content", Json::array()},
                                   {"stop_reason", nullptr},
                                   {"usage", usage}}}}));
  out.push_back(anthropic_event({{"type", "ping"}}));
  int index = 0;
  auto block = [&](Json start, const char* type, const char* key, const std::string& text) {
    out.push_back(anthropic_event(
        {{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(start)}}));
    for (const std::string& piece : pieces_of(text, pieces))
      out.push_back(anthropic_event(
          {{"type", "content_block_delta"}, {"index", index}, {"delta", {{"type", type}, {key, piece}}}}));
    if (type == std::string_view("thinking_delta"))
      out.push_back(anthropic_event({{"type", "content_block_delta"},
                                     {"index", index},
                                     {"delta", {{"type", "signature_delta"}, {"signature", "signed"}}}}));
    out.push_back(anthropic_event({{"type", "content_block_stop"}, {"index", index++}}));
  };
  if (!reply.reasoning.empty())
    block({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, "thinking_delta", "thinking",
          reply.reasoning);
  if (!reply.text.empty()) block({{"type", "text"}, {"text", ""}}, "text_delta", "text", reply.text);
  for (const ToolCall& call : reply.tool_calls)
    block({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Json::object()}},
          "input_json_delta", "partial_json", call.arguments);
  out.push_back(anthropic_event({{"type", "message_delta"},
                                 {"delta", {{"stop_reason", anthropic_reason(reply.finish)}}},
                                 {"usage", anthropic_usage(reply.usage)}}));
  out.push_back(anthropic_event({{"type", "message_stop"}}));
  return out;
}

namespace {

Json responses_items(const Reply& reply) {
  Json out = Json::array();
  if (!reply.reasoning.empty())
    out.push_back({{"type", "reasoning"},
                   {"id", "rs_1"},
                   {"summary", Json::array({{{"type", "summary_text"}, {"text", reply.reasoning}}})},
                   {"encrypted_content", "sealed"}});
  if (!reply.text.empty())
    out.push_back(
        {{"type", "message"},
         {"id", "msg_1"},
         {"role", "assistant"},
         {"status", "completed"},
         {"content",
          Json::array({{{"type", "output_text"}, {"text", reply.text}, {"annotations", Json::array()}}})}});
  for (const ToolCall& call : reply.tool_calls)
    out.push_back({{"type", "function_call"},
                   {"id", "fc_" + call.id},
                   {"call_id", call.id},
                   {"name", call.name},
                   {"arguments", call.arguments},
                   {"status", "completed"}});
  return out;
}

Json response_of(const Reply& reply, Json output, bool ended) {
  const bool whole = reply.finish != Finish::length && reply.finish != Finish::refused;
  Json out = {{"id", "resp_1"},
              {"object", "response"},
              {"created_at", 0},
              {"status", !ended  ? "in_progress"
                         : whole ? "completed"
                                 : "incomplete"},
              {"error", nullptr},
              {"incomplete_details", nullptr},
              {"model", reply.model},
              {"output", std::move(output)},
              {"parallel_tool_calls", true},
              {"tool_choice", "auto"},
              {"tools", Json::array()}};
  if (ended && !whole)
    out["incomplete_details"] = {
        {"reason", reply.finish == Finish::length ? "max_output_tokens" : "content_filter"}};
  if (ended)
    out["usage"] = {
        {"input_tokens", reply.usage.input},
        {"input_tokens_details",
         {{"cached_tokens", reply.usage.cached}, {"cache_write_tokens", reply.usage.cache_write}}},
        {"output_tokens", reply.usage.output},
        {"output_tokens_details", {{"reasoning_tokens", reply.usage.reasoning}}},
        {"total_tokens", reply.usage.total()}};
  return out;
}

}  // namespace

std::string responses_document(const Reply& reply) {
  return line_text(response_of(reply, responses_items(reply), true));
}

std::vector<std::string> responses_events(const Reply& reply, int pieces) {
  std::vector<std::string> out;
  auto add = [&](Json body) {
    body["sequence_number"] = out.size();
    out.push_back(anthropic_event(body));
  };
  add({{"type", "response.created"}, {"response", response_of(reply, Json::array(), false)}});
  const Json items = responses_items(reply);
  for (size_t i = 0; i < items.size(); ++i) {
    const Json& item = items[i];
    const std::string type = item["type"].get<std::string>();
    Json begun = item;
    if (type == "reasoning") begun["summary"] = Json::array();
    if (type == "message") begun["content"] = Json::array(), begun["status"] = "in_progress";
    if (type == "function_call") begun["arguments"] = "", begun["status"] = "in_progress";
    add({{"type", "response.output_item.added"}, {"output_index", i}, {"item", begun}});
    Json delta = {{"output_index", i}, {"item_id", item["id"]}};
    std::string text;
    if (type == "reasoning") {
      delta["type"] = "response.reasoning_summary_text.delta";
      delta["summary_index"] = 0;
      text = reply.reasoning;
    } else if (type == "message") {
      delta["type"] = "response.output_text.delta";
      delta["content_index"] = 0;
      delta["logprobs"] = Json::array();
      text = reply.text;
    } else {
      delta["type"] = "response.function_call_arguments.delta";
      text = item["arguments"].get<std::string>();
    }
    for (const std::string& piece : pieces_of(text, pieces)) {
      delta["delta"] = piece;
      add(delta);
    }
    add({{"type", "response.output_item.done"}, {"output_index", i}, {"item", item}});
  }
  const bool whole = reply.finish != Finish::length && reply.finish != Finish::refused;
  add({{"type", whole ? "response.completed" : "response.incomplete"},
       {"response", response_of(reply, items, true)}});
  return out;
}

std::string document_of(Api api, const Reply& reply) {
  switch (api) {
    case Api::openai: return openai_document(reply);
    case Api::responses: return responses_document(reply);
    case Api::anthropic: return anthropic_document(reply);
  }
  throw Bug("an API without documents");
}

std::vector<std::string> events_of(Api api, const Reply& reply, int pieces) {
  switch (api) {
    case Api::openai: return openai_events(reply, pieces);
    case Api::responses: return responses_events(reply, pieces);
    case Api::anthropic: return anthropic_events(reply, pieces);
  }
  throw Bug("an API without events");
}

Answer says_reply(Reply reply, int chunks) {
  if (reply.model.empty()) reply.model = "scripted-model";
  if (reply.finish == Finish::other)
    reply.finish = reply.tool_calls.empty() ? Finish::stop : Finish::tool_calls;
  if (reply.usage.total() == 0) reply.usage = {.input = 100, .output = 10};
  return [reply = std::move(reply), chunks](const Asked& asked) {
    if (!asked.stream) return Scripted{.chunks = {document_of(asked.api, reply)}};
    return Scripted{.chunks = events_of(asked.api, reply, chunks)};
  };
}

Answer says(std::string text, int chunks) { return says_reply({.text = std::move(text)}, chunks); }

Answer calls_tool(std::string name, std::string arguments_json) {
  return says_reply({.tool_calls = {{"call_1", std::move(name), std::move(arguments_json)}}}, 2);
}

Answer fails_with(int status, std::string message, std::string retry_after) {
  return [=](const Asked& asked) {
    Scripted out{.status = status};
    if (!retry_after.empty()) out.headers.emplace_back("Retry-After", retry_after);
    Json error = {{"error", {{"type", "scripted_error"}, {"message", message}}}};
    if (asked.api == Api::anthropic) error["type"] = "error";
    out.chunks = {line_text(error)};
    return out;
  };
}

namespace {
// The beginning of a good answer: all its text, but not its end.
Answer begins(std::string text, bool hang) {
  return [text = std::move(text), hang](const Asked& asked) {
    Scripted out = says(text, 2)(asked);
    if (asked.stream)
      out.chunks.resize(out.chunks.size() - 3);
    else
      out.chunks.front().resize(out.chunks.front().size() / 2);
    out.hang = hang;
    out.drop = !hang;
    return out;
  };
}
}  // namespace

Answer drops_after(std::string text) { return begins(std::move(text), false); }
Answer hangs_after(std::string text) { return begins(std::move(text), true); }

Answer sends_bytes(std::string bytes, std::string content_type) {
  return [=](const Asked&) { return Scripted{.content_type = content_type, .chunks = {bytes}}; };
}

Answer slowly(Answer answer, double seconds_between) {
  return [=](const Asked& asked) {
    Scripted out = answer(asked);
    out.seconds_between = seconds_between;
    return out;
  };
}

}  // namespace stitch::llm
