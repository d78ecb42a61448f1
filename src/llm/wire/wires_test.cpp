#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "llm/account.h"
#include "llm/scripted_server.h"
#include "llm/testing.h"

namespace stitch::llm {

namespace {

using namespace testing;

TEST(OpenAiWire, Body) {
  const Profile profile{.name = "p", .url = "http://x/v1", .model = "m"};
  const Json body = openai_wire().body(profile, full_request());
  EXPECT_EQ(body, Json::parse(R"({
    "model": "m",
    "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Read a.txt and b.txt."},
      {"role": "assistant", "content": "Reading.", "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a.txt\"}"}},
        {"id": "call_b", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"b.txt\"}"}}]},
      {"role": "tool", "content": "alpha", "tool_call_id": "call_a"},
      {"role": "tool", "content": "no such file", "tool_call_id": "call_b"},
      {"role": "user", "content": "Go on."}],
    "tools": [{"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters":
      {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}}}],
    "max_tokens": 500, "temperature": 0.5, "stream": true, "stream_options": {"include_usage": true}})"));
}

TEST(OpenAiWire, TheProfileDecides) {
  Profile profile{.name = "p", .url = "http://x/v1", .model = "m"};
  profile.max_completion_tokens = profile.json_schema = profile.cache_control = true;
  profile.stream = false;
  profile.max_tokens = 77;
  profile.temperature = 0.25;
  profile.extra = std::make_shared<const Json>(Json{{"seed", 7}});
  Request ask = full_request();
  ask.max_tokens.reset();
  ask.temperature.reset();
  const Json body = openai_wire().body(profile, ask);
  EXPECT_FALSE(body.contains("max_tokens") || body.contains("stream") || body.contains("stream_options"));
  EXPECT_EQ(body["max_completion_tokens"], 77);
  EXPECT_EQ(body["temperature"], 0.25);
  profile.temperature.reset();
  EXPECT_FALSE(openai_wire().body(profile, full_request()).contains("temperature"));
  EXPECT_EQ(body["seed"], 7);
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"], *ask.answer_schema);
  EXPECT_EQ(body["messages"][0]["content"][0]["cache_control"]["type"], "ephemeral");
  // The answer is made to fit into the context; a prompt that doesn't is the server's to refuse.
  profile.context = 200 + estimated_tokens(ask);
  EXPECT_EQ(openai_wire().body(profile, ask)["max_completion_tokens"], 77);
  profile.max_tokens = 1000;
  profile.context = 300 + estimated_tokens(ask);
  EXPECT_EQ(openai_wire().body(profile, ask)["max_completion_tokens"], 300);
  profile.context = 10;
  EXPECT_EQ(openai_wire().body(profile, ask)["max_completion_tokens"], 256);
}

TEST(OpenAiWire, KeysAreOnlyInTheHeader) {
  EXPECT_EQ(openai_wire().headers("sk-1"), (http::Headers{{"Authorization", "Bearer sk-1"}}));
  EXPECT_TRUE(openai_wire().headers("").empty());
}

TEST(OpenAiWire, StreamsAndDocumentsGiveTheSame) {
  std::string bytes;
  for (const std::string& event : openai_events(full_reply(), 5)) bytes += event;
  std::string pieces;
  expect_full_reply(
      read_stream(openai_wire(), bytes, {.on_text = [&](std::string_view piece) { pieces += piece; }}));
  EXPECT_EQ(pieces, "Grüße, here it is.");
  expect_full_reply(read_whole(openai_wire(), openai_document(full_reply())));
}

TEST(OpenAiWire, OtherServersForms) {
  auto reply = must(read_stream(
      openai_wire(),
      // no index, arguments as an object, "reasoning" (Ollama, OpenRouter)
      R"(data: {"choices":[{"delta":{"reasoning":"hm","tool_calls":[{"id":"x","function":{"name":"f","arguments":{"a":1}}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"g","arguments":"{"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_cache_hit_tokens":4}}

)"));
  ASSERT_EQ(reply.tool_calls.size(), 2u);
  EXPECT_EQ(reply.tool_calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(reply.tool_calls[1].arguments, "{}");
  EXPECT_EQ(reply.finish, Finish::tool_calls);
  EXPECT_EQ(reply.reasoning, "hm");
  EXPECT_EQ(reply.usage.cached, 4);
  auto parts = must(read_whole(
      openai_wire(),
      R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]})"));
  EXPECT_EQ(parts.text, "ab");
  auto refused = read_whole(
      openai_wire(), R"({"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]})");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->finish, Finish::refused);
}

TEST(OpenAiWire, BrokenStreams) {
  auto code_of = [](std::string_view stream) { return code_of_stream(openai_wire(), stream); };
  EXPECT_EQ(code_of("data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n"), "llm_dropped");
  EXPECT_EQ(code_of(""), "llm_dropped");
  EXPECT_EQ(code_of("data: <html>\n\n"), "llm_format");
  EXPECT_EQ(code_of("data: [1]\n\n"), "llm_format");
  EXPECT_EQ(code_of("data: {\"choices\":[]}\n\ndata: \xFF\xFE\n\n"), "llm_dropped");
  EXPECT_EQ(code_of("data: {\"error\":{\"message\":\"slow\",\"code\":429}}\n\n"), "llm_rate_limit");
  EXPECT_EQ(code_of("data: {\"error\":\"out of memory\"}\n\n"), "llm_server");
  EXPECT_EQ(
      code_of("data: {\"choices\":7,\"usage\":[],\"model\":1}\n\ndata: {\"choices\":[1,{\"delta\":[]}]}\n\n"
              "data: {\"choices\":[{\"delta\":{\"tool_calls\":[4,{\"index\":-1}]}}]}\n\ndata: [DONE]\n\n"),
      "fine");
  EXPECT_EQ(read_whole(openai_wire(), "{}").error().code, "llm_format");
}

TEST(OpenAiWire, AnswersHaveALimit) {
  std::string bytes;
  for (const std::string& event : openai_events({.text = std::string(3500, 'x')}, 100)) bytes += event;
  EXPECT_EQ(read_stream(openai_wire(), bytes, {}, 3000).error().code, "llm_too_large");
  EXPECT_TRUE(read_stream(openai_wire(), bytes, {}, 4000));
}

TEST(ResponsesWire, Body) {
  const Profile profile{.name = "p", .api = Api::responses, .url = "http://x/v1", .model = "m"};
  Request ask = full_request();
  const Json body = responses_wire().body(profile, ask);
  EXPECT_EQ(body, Json::parse(R"({
    "model": "m",
    "input": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Read a.txt and b.txt."},
      {"role": "assistant", "content": "Reading."},
      {"type": "function_call", "call_id": "call_a", "name": "read", "arguments": "{\"path\": \"a.txt\"}"},
      {"type": "function_call", "call_id": "call_b", "name": "read", "arguments": "{\"path\": \"b.txt\"}"},
      {"type": "function_call_output", "call_id": "call_a", "output": "alpha"},
      {"type": "function_call_output", "call_id": "call_b", "output": "no such file"},
      {"role": "user", "content": "Go on."}],
    "store": false,
    "tools": [{"type": "function", "name": "read", "description": "Reads a file.", "parameters":
      {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false},
      "strict": false}],
    "max_output_tokens": 500, "stream": true})"));
  EXPECT_EQ(responses_wire().headers("sk-1"), openai_wire().headers("sk-1"));
}

TEST(ResponsesWire, TheProfileDecides) {
  Profile profile{.name = "p", .api = Api::responses, .model = "gpt-5.6", .json_schema = true};
  profile.stream = false;
  profile.temperature = 0.25;
  profile.extra = std::make_shared<const Json>(Json{{"reasoning", {{"effort", "high"}}}});
  Request ask = full_request();
  ask.max_tokens.reset();
  const Json body = responses_wire().body(profile, ask);
  EXPECT_EQ(body["text"]["format"]["schema"], *ask.answer_schema);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["reasoning"]["effort"], "high");
  EXPECT_EQ(body["max_output_tokens"], 65536);  // what the model can, at most
  EXPECT_FALSE(body.contains("stream"));
  // What was thought goes back beside tool calls, sealed: nothing is stored at the server.
  EXPECT_EQ(body["include"], Json::parse(R"(["reasoning.encrypted_content"])"));
  profile.model = "gpt-4o";
  EXPECT_FALSE(responses_wire().body(profile, ask).contains("include"));
  EXPECT_EQ(responses_wire().body(profile, ask)["max_output_tokens"], 16384);
}

void expect_sealed_reply(const Result<Reply>& reply) {
  ASSERT_NO_FATAL_FAILURE(expect_full_reply(reply));
  // The reasoning goes back before the calls that it led to.
  Request next = request("?");
  next.messages.push_back(reply->message());
  const Json body = responses_wire().body({.name = "p", .api = Api::responses, .model = "m"}, next);
  ASSERT_EQ(body["input"].size(), 5u);
  EXPECT_EQ(body["input"][1]["type"], "reasoning");
  EXPECT_EQ(body["input"][1]["encrypted_content"], "sealed");
  EXPECT_EQ(body["input"][3]["type"], "function_call");
  // Chat completions have no place for it.
  EXPECT_EQ(openai_wire().body({.name = "p", .model = "m"}, next).dump().find("sealed"), std::string::npos);
}

TEST(ResponsesWire, StreamsAndDocumentsGiveTheSame) {
  std::string bytes, pieces;
  for (const std::string& event : responses_events(full_reply(), 5)) bytes += event;
  expect_sealed_reply(
      read_stream(responses_wire(), bytes, {.on_text = [&](std::string_view piece) { pieces += piece; }}));
  EXPECT_EQ(pieces, "Grüße, here it is.");
  expect_sealed_reply(read_whole(responses_wire(), responses_document(full_reply())));
  // A server that sends only the end.
  auto events = responses_events(full_reply(), 1);
  expect_sealed_reply(read_stream(responses_wire(), events.front() + events.back()));
}

TEST(ResponsesWire, FinishReasons) {
  auto finish = [](Finish given) {
    return read_whole(responses_wire(), responses_document({.text = "a", .finish = given}))->finish;
  };
  for (Finish each : {Finish::stop, Finish::length, Finish::refused}) EXPECT_EQ(finish(each), each);
  auto refused = read_whole(
      responses_wire(),
      R"({"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]})");
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_EQ(refused->finish, Finish::refused);
  EXPECT_EQ(refused->text, "no");
}

TEST(ResponsesWire, BrokenStreams) {
  auto code_of = [](std::string_view stream) { return code_of_stream(responses_wire(), stream); };
  std::string bytes;
  auto events = responses_events({.text = "half"}, 2);
  for (size_t i = 0; i + 1 < events.size(); ++i) bytes += events[i];
  EXPECT_EQ(code_of(bytes), "llm_dropped");
  EXPECT_EQ(code_of(""), "llm_dropped");
  EXPECT_EQ(code_of("data: junk\n\n"), "llm_format");
  EXPECT_EQ(code_of(bytes + "data: junk\n\n"), "llm_dropped");
  EXPECT_EQ(code_of("data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}\n\n"),
            "llm_rate_limit");
  EXPECT_EQ(code_of("data: {\"type\":\"error\",\"error\":{\"message\":\"oh\"}}\n\n"), "llm_server");
  EXPECT_EQ(code_of("data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\","
                    "\"message\":\"oh\"}}}\n\n"),
            "llm_server");
  EXPECT_EQ(
      code_of("data: {}\n\ndata: {\"type\":7}\n\ndata: {\"type\":\"response.output_item.done\",\"item\":"
              "[]}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":-1}\n\n"
              "data: {\"type\":\"invented\"}\n\ndata: "
              "{\"type\":\"response.completed\",\"response\":{\"output\":[1,{\"type\":\"message\","
              "\"content\":[2]}]}}\n\n"),
      "fine");
  EXPECT_EQ(read_whole(responses_wire(), "{}").error().code, "llm_format");
}

TEST(AnthropicWire, Body) {
  const Profile profile{.name = "p", .api = Api::anthropic, .url = "http://x/v1", .model = "m"};
  EXPECT_EQ(anthropic_wire().body(profile, full_request()), Json::parse(R"({
    "model": "m", "max_tokens": 500,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "Read a.txt and b.txt."}]},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "two files", "signature": "signed"},
        {"type": "text", "text": "Reading."},
        {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a.txt"}},
        {"type": "tool_use", "id": "call_b", "name": "read", "input": {"path": "b.txt"}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_a", "content": "alpha"},
        {"type": "tool_result", "tool_use_id": "call_b", "content": "no such file", "is_error": true},
        {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}]}],
    "tools": [{"name": "read", "description": "Reads a file.", "input_schema":
      {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}}],
    "stream": true})"));
}

TEST(AnthropicWire, TemperaturesOnlyWhereTheProfileHasOne) {
  Profile profile{.name = "p", .api = Api::anthropic, .model = "m", .temperature = 0.25};
  EXPECT_EQ(anthropic_wire().body(profile, full_request())["temperature"], 0.5);
  EXPECT_EQ(anthropic_wire().body(profile, request("?"))["temperature"], 0.25);
  profile.temperature.reset();
  EXPECT_FALSE(anthropic_wire().body(profile, full_request()).contains("temperature"));
}

TEST(AnthropicWire, WhatTheApiRefusesIsNotSent) {
  const Profile profile{.name = "p", .api = Api::anthropic, .model = "m", .json_schema = true};
  Request ask;
  Message broken{.role = Role::assistant};
  broken.tool_calls = {{"x", "f", "{\"half"}, {"y", "g", ""}};
  for (int i = 0; i < 6; ++i) {
    ask.messages.push_back(user_message("part"));
    ask.messages.back().cache = true;
  }
  ask.messages.push_back(broken);
  ask.messages.push_back(user_message(""));
  ask.answer_schema = std::make_shared<const Json>(Json{{"type", "object"}});
  const Json body = anthropic_wire().body(profile, ask);
  EXPECT_FALSE(body.contains("system"));
  int breakpoints = 0;
  for (const Json& block : body["messages"][0]["content"]) breakpoints += block.contains("cache_control");
  EXPECT_EQ(breakpoints, 4);
  EXPECT_FALSE(body["messages"][0]["content"][1].contains("cache_control"));
  EXPECT_TRUE(body["messages"][0]["content"][5].contains("cache_control"));
  const Json& calls = body["messages"][1]["content"];
  EXPECT_EQ(calls.size(), 2u);  // no empty text
  EXPECT_EQ(calls[0]["input"], (Json{{"unreadable_arguments", "{\"half"}}));
  EXPECT_EQ(calls[1]["input"], Json::object());
  EXPECT_EQ(body["messages"][2]["content"][0]["text"], "(nothing)");
  EXPECT_EQ(body["output_config"]["format"]["type"], "json_schema");
  EXPECT_EQ(anthropic_wire().headers("k"),
            (http::Headers{{"anthropic-version", "2023-06-01"}, {"x-api-key", "k"}}));
}

// With tokens written to the cache; what was thought comes back in the API's own form.
Reply sample() {
  Reply reply = full_reply();
  reply.usage.cache_write = 5;
  return reply;
}

void expect_sample(const Result<Reply>& reply) {
  ASSERT_NO_FATAL_FAILURE(expect_full_reply(reply));
  EXPECT_EQ(reply->usage.cache_write, 5);
  ASSERT_TRUE(reply->message().reasoning_blocks);
  EXPECT_EQ(*reply->message().reasoning_blocks,
            Json::parse(R"([{"type": "thinking", "thinking": "let me see", "signature": "signed"}])"));
}

TEST(AnthropicWire, StreamsAndDocumentsGiveTheSame) {
  std::string bytes;
  for (const std::string& event : anthropic_events(sample(), 5)) bytes += event;
  std::string text, reasoning;
  expect_sample(read_stream(anthropic_wire(), bytes,
                            {.on_text = [&](std::string_view piece) { text += piece; },
                             .on_reasoning = [&](std::string_view piece) { reasoning += piece; }}));
  EXPECT_EQ(text, "Grüße, here it is.");
  EXPECT_EQ(reasoning, "let me see");
  expect_sample(read_whole(anthropic_wire(), anthropic_document(sample())));
}

TEST(AnthropicWire, BrokenStreams) {
  auto code_of = [](std::string_view stream) { return code_of_stream(anthropic_wire(), stream); };
  std::string bytes;
  auto events = anthropic_events({.text = "half"}, 2);
  for (size_t i = 0; i + 1 < events.size(); ++i) bytes += events[i];
  EXPECT_EQ(code_of(bytes), "llm_dropped");
  EXPECT_EQ(
      code_of(
          bytes +
          "event: error\ndata: "
          "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"),
      "llm_server");
  EXPECT_EQ(code_of("data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}\n\n"),
            "llm_rate_limit");
  EXPECT_EQ(code_of("data: junk\n\n"), "llm_format");
  EXPECT_EQ(code_of(bytes + "data: junk\n\n"), "llm_dropped");
  EXPECT_EQ(
      code_of(
          "data: {}\n\ndata: "
          "{\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":"
          "\"?\"}}\n\n"
          "data: {\"type\":\"content_block_start\",\"content_block\":[]}\n\ndata: {\"type\":\"invented\"}\n\n"
          "data: {\"type\":\"message_stop\"}\n\n"),
      "fine");
  EXPECT_EQ(read_whole(anthropic_wire(), "{}").error().code, "llm_format");
  EXPECT_EQ(read_whole(anthropic_wire(),
                       R"({"type":"error","error":{"type":"invalid_request_error","message":"no"}})")
                .error()
                .code,
            "llm_request");
}

TEST(AnthropicWire, FinishReasons) {
  auto finish = [](const char* reason) {
    return read_whole(anthropic_wire(), std::string(R"({"content":[],"stop_reason":")") + reason + "\"}")
        ->finish;
  };
  EXPECT_EQ(finish("end_turn"), Finish::stop);
  EXPECT_EQ(finish("max_tokens"), Finish::length);
  EXPECT_EQ(finish("refusal"), Finish::refused);
  EXPECT_EQ(finish("pause_turn"), Finish::other);
}

}  // namespace

}  // namespace stitch::llm
