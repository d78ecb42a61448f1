#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "llm/account.h"
#include "llm/scripted_bodies.h"
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

std::string code_of(std::string_view stream) {
  auto reply = read_stream(openai_wire(), stream);
  return reply ? "fine" : reply.error().code;
}

TEST(OpenAiWire, BrokenStreams) {
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
  for (const std::string& event : openai_events({.text = std::string(5000, 'x')}, 100)) bytes += event;
  EXPECT_EQ(read_stream(openai_wire(), bytes, {}, 4000).error().code, "llm_too_large");
  EXPECT_TRUE(read_stream(openai_wire(), bytes, {}, 6000));
}

}  // namespace
}  // namespace stitch::llm
