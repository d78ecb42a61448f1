#include <gtest/gtest.h>

#include "llm/scripted_server.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

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
