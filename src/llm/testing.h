// What the tests of this room share: Chats and Transports that say what they are told to.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "llm/chat.h"
#include "llm/http_chat.h"
#include "llm/wire/wire.h"

namespace stitch::llm::testing {

using Outcome = std::function<Result<Reply>(const Request&, const AskOptions&)>;

class FakeChat final : public Chat {
 public:
  explicit FakeChat(std::deque<Outcome> outcomes) : outcomes_(std::move(outcomes)) {}
  Result<Reply> ask(const Request& request, const AskOptions& options) override {
    asked.push_back(request);
    require(!outcomes_.empty(), "the script has no more answers");
    Outcome outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    return outcome(request, options);
  }
  std::vector<Request> asked;

 private:
  std::deque<Outcome> outcomes_;
};

inline Outcome replies(Reply reply) {
  return [=](const Request&, const AskOptions& options) -> Result<Reply> {
    if (options.on_text) options.on_text(reply.text);
    return reply;
  };
}
inline Outcome replies(std::string text) {
  return replies(Reply{.text = std::move(text), .finish = Finish::stop, .usage = {.input = 10, .output = 5}});
}
inline Outcome errs(std::string code) {
  return [=](const Request&, const AskOptions&) -> Result<Reply> { return work_error(code, "as scripted"); };
}

inline Request request(std::string text) { return {.messages = {user_message(std::move(text))}}; }

// Everything a wire's request can hold.
inline Request full_request() {
  auto schema = std::make_shared<const Json>(Json::parse(
      R"({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false})"));
  Request out;
  out.messages = {system_message("Be brief."), user_message("Read a.txt and b.txt.")};
  out.messages[0].cache = true;
  Message calls{.role = Role::assistant, .text = "Reading."};
  calls.tool_calls = {{"call_a", "read", R"({"path": "a.txt"})"}, {"call_b", "read", R"({"path": "b.txt"})"}};
  calls.reasoning_blocks = std::make_shared<const Json>(
      Json::parse(R"([{"type": "thinking", "thinking": "two files", "signature": "signed"}])"));
  out.messages.push_back(calls);
  out.messages.push_back(tool_message(calls.tool_calls[0], "alpha"));
  out.messages.push_back(tool_message(calls.tool_calls[1], "no such file", true));
  out.messages.push_back(user_message("Go on."));
  out.messages.back().cache = true;
  out.tools = {{"read", "Reads a file.", schema}};
  out.max_tokens = 500;
  out.temperature = 0.5;
  out.answer_schema = schema;
  return out;
}

// What a wire makes of a stream.
inline Result<Reply> read_stream(const Wire& wire, std::string_view bytes, const AskOptions& options = {},
                                 size_t limit = 1 << 20) {
  auto reader = wire.reader(options, limit);
  SseParser parser([&](const SseEvent& event) { return reader->event(event); }, limit);
  STITCH_CHECK(parser.feed(bytes));
  return reader->end();
}
inline std::string code_of_stream(const Wire& wire, std::string_view bytes) {
  auto reply = read_stream(wire, bytes);
  return reply ? "fine" : reply.error().code;
}

inline Result<Reply> read_whole(const Wire& wire, std::string_view document) {
  const AskOptions options;
  auto reader = wire.reader(options, 1 << 20);
  STITCH_CHECK(reader->whole(Json::parse(document)));
  return reader->end();
}

// An answer without a network.
class FakeTransport final : public Transport {
 public:
  Result<http::Response> post(http::Call call) override {
    for (const std::string& piece : pieces) STITCH_CHECK(call.receive(head, piece));
    posted.push_back(std::move(call));
    if (error) return *error;
    return head;
  }
  http::Response head{.status = 200, .headers = {}};
  std::vector<std::string> pieces;
  std::optional<Error> error;
  std::vector<http::Call> posted;
};

// Everything a reply can hold.
inline Reply full_reply() {
  Reply reply{.text = "Grüße, here it is.", .reasoning = "let me see", .model = "m-1"};
  reply.tool_calls = {{"c1", "read", R"({"path": "a"})"}, {"c2", "list", "{}"}};
  reply.finish = Finish::tool_calls;
  reply.usage = {.input = 120, .output = 30, .cached = 100, .reasoning = 12};
  return reply;
}

inline void expect_full_reply(const Result<Reply>& reply) {
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ(reply->text, "Grüße, here it is.");
  EXPECT_EQ(reply->reasoning, "let me see");
  EXPECT_EQ(reply->model, "m-1");
  ASSERT_EQ(reply->tool_calls.size(), 2u);
  EXPECT_EQ(reply->tool_calls[0].id, "c1");
  EXPECT_EQ(Json::parse(reply->tool_calls[0].arguments), (Json{{"path", "a"}}));
  EXPECT_EQ(reply->tool_calls[1].name, "list");
  EXPECT_EQ(reply->finish, Finish::tool_calls);
  EXPECT_EQ(reply->usage.input, 120);
  EXPECT_EQ(reply->usage.output, 30);
  EXPECT_EQ(reply->usage.cached, 100);
  EXPECT_EQ(reply->usage.reasoning, 12);
}

}  // namespace stitch::llm::testing
