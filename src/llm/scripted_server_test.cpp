// Whole conversations over loopback: the client against servers that behave and that don't.
#include "llm/scripted_server.h"

#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "llm/answers.h"
#include "llm/connect.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;
using namespace std::chrono_literals;

class Server : public ::testing::TestWithParam<Api> {
 protected:
  void SetUp() override { server = must(ScriptedServer::start()); }

  Result<Reply> ask(const AskOptions& options = {}, const std::function<void(Connection&)>& change = {}) {
    Connection connection{.profile = server->profile(GetParam()),
                          .agent = Agent::coder,
                          .account = &account,
                          .retry = {.tries = 3, .first_wait = 0.001}};
    if (change) change(connection);
    auto chat = connect(std::move(connection));
    if (!chat) return std::move(chat).error();
    return (*chat)->ask(request("hello?"), options);
  }

  std::string code_of(Answer answer, const std::function<void(Connection&)>& change = {}) {
    server->push(std::move(answer));
    auto reply = ask({}, [&](Connection& connection) {
      connection.retry.tries = 1;
      if (change) change(connection);
    });
    return reply ? "fine" : reply.error().code;
  }

  std::unique_ptr<ScriptedServer> server;
  Account account;
};

TEST_P(Server, Streams) {
  server->push(
      says_reply({.text = "Hello, 世界.", .reasoning = "think", .usage = {.input = 50, .output = 9}}, 6));
  std::string text, reasoning;
  int pieces = 0;
  auto reply = must(ask({.on_text = [&](std::string_view piece) { text += piece, ++pieces; },
                         .on_reasoning = [&](std::string_view piece) { reasoning += piece; }}));
  EXPECT_EQ(reply.text, "Hello, 世界.");
  EXPECT_EQ(text, reply.text);
  EXPECT_EQ(reasoning, "think");
  EXPECT_GE(pieces, 5);
  EXPECT_EQ(reply.usage.input, 50);
  EXPECT_EQ(reply.usage.output, 9);
  EXPECT_EQ(account.spent(Agent::coder).usage.total(), 59);
  const auto asked = server->asked();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].api, GetParam());
  EXPECT_TRUE(asked[0].stream);
}

TEST_P(Server, WithoutStreaming) {
  server->push(calls_tool("read", R"({"path":"a"})"));
  auto reply = must(ask({}, [](Connection& connection) { connection.profile.stream = false; }));
  ASSERT_EQ(reply.tool_calls.size(), 1u);
  EXPECT_EQ(reply.tool_calls[0].arguments, R"({"path":"a"})");
  EXPECT_FALSE(server->asked()[0].stream);
}

TEST_P(Server, WhatMayWorkTheSecondTimeIsTriedAgain) {
  for (const Answer& first :
       {fails_with(429, "slow down", "0.01"), fails_with(500, "oh"), fails_with(529, "overloaded"),
        drops_after("half an ans"), sends_bytes(""), sends_bytes("{\"cut")}) {
    server->push(first);
    server->push(says("whole"));
    int voided = 0;
    auto reply = must(ask({.on_retry = [&](const Error&, double) { ++voided; }}));
    EXPECT_EQ(reply.text, "whole");
    EXPECT_EQ(voided, 1);
  }
}

TEST_P(Server, TooManyRequestsForEver) {
  server->otherwise(fails_with(429, "slow down", "0.001"));
  EXPECT_EQ(ask().error().code, "llm_rate_limit");
  EXPECT_EQ(server->asked().size(), 3u);
  EXPECT_EQ(account.total().failed, 3);
}

TEST_P(Server, BadAnswers) {
  EXPECT_EQ(code_of(fails_with(400, "no")), "llm_request");
  EXPECT_EQ(code_of(fails_with(401, "no")), "llm_auth");
  EXPECT_EQ(code_of(fails_with(404, "no")), "llm_model");
  EXPECT_EQ(code_of(fails_with(302, "elsewhere")), "llm_request");
  EXPECT_EQ(code_of(drops_after("half")), "llm_dropped");
  EXPECT_EQ(code_of(sends_bytes("")), "llm_dropped");
  EXPECT_EQ(code_of(sends_bytes("<html>hello</html>", "text/html")), "llm_format");
  EXPECT_EQ(code_of(sends_bytes(std::string(100000, '\xFE'))), "llm_dropped");
  EXPECT_EQ(code_of(sends_bytes("data: \xFE\n\n")), "llm_format");
  EXPECT_EQ(code_of(sends_bytes("{\"a\": 1}", "application/json")), "llm_format");
  auto small = [](Connection& connection) { connection.max_answer_bytes = 100000; };
  std::string numbers;
  for (int i = 0; numbers.size() < 2 << 20; ++i) numbers += std::to_string(i) + ", ";
  EXPECT_EQ(code_of(says(numbers, 500), small), "llm_too_large");
  EXPECT_EQ(code_of(says(numbers, 500)), "fine");
  std::string loop = "It is as follows.\n";
  for (int i = 0; i < 100; ++i) loop += "{\"merge\": [\"NAME\", \"NEIGHBOUR\"], \"technique\": \"loop\"},\n";
  EXPECT_EQ(code_of(says(loop, 500)), "llm_answer");
  EXPECT_EQ(code_of(says("")), "fine");
}

TEST_P(Server, SlowButAlive) {
  server->push(slowly(says("one two three", 4), 0.01));
  auto reply = ask({}, [](Connection& connection) { connection.profile.timeout = 5; });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->text, "one two three");
}

TEST_P(Server, Silence) {
  EXPECT_EQ(code_of(hangs_after("half"), [](Connection& connection) { connection.profile.timeout = 0.1; }),
            "llm_timeout");
}

TEST_P(Server, Deadlines) {
  server->push(hangs_after("half"));
  const auto start = Clock::now();
  EXPECT_EQ(ask({.deadline = start + 60ms}).error().code, "llm_deadline");
  EXPECT_LT(Clock::now() - start, 3s);
}

TEST_P(Server, StopsWithinASecond) {
  server->push(hangs_after("half"));
  bool begun = false;
  const auto start = Clock::now();
  auto reply =
      ask({.on_text = [&](std::string_view) { begun = true; }, .should_stop = [&] { return begun; }});
  EXPECT_EQ(reply.error().code, "stopped");
  EXPECT_LT(Clock::now() - start, 3s);
  EXPECT_GT(account.total().usage.total(), 0);  // what was streamed was paid for
}

TEST_P(Server, TheBudgetHolds) {
  Account poor({.tokens = 400});
  server->otherwise(says_reply({.text = "ok", .usage = {.input = 200, .output = 100}}));
  auto with_poor = [&](Connection& connection) { connection.account = &poor; };
  EXPECT_TRUE(ask({}, with_poor));
  EXPECT_EQ(ask({}, with_poor).error().code, "llm_budget");
  EXPECT_EQ(server->asked().size(), 1u);

  const char* limit = GetParam() == Api::responses ? "max_output_tokens" : "max_tokens";
  EXPECT_LE(server->asked()[0].body->at(limit), 400);
}

TEST_P(Server, KeysGoIntoTheHeaderOnly) {
  std::string kept;
  server->push(says("ok"));
  ASSERT_TRUE(ask({}, [&](Connection& connection) {
    connection.profile.key_env = "SOME_KEY";
    connection.environment = [](const std::string& name) -> std::optional<std::string> {
      return name == "SOME_KEY" ? std::optional<std::string>("sk-very-secret") : std::nullopt;
    };
    connection.transcript = [&](const Json& exchange) {
      kept = exchange.dump();
      return Result<void>();
    };
  }));
  const Asked asked = server->asked()[0];
  const std::string name = GetParam() == Api::anthropic ? "x-api-key" : "authorization";
  bool found = false;
  for (const auto& [key, value] : asked.headers)
    found |= key == name && value.find("sk-very-secret") != std::string::npos;
  EXPECT_TRUE(found);
  EXPECT_EQ(asked.body->dump().find("secret"), std::string::npos);
  EXPECT_EQ(kept.find("secret"), std::string::npos);
  EXPECT_FALSE(kept.empty());
}

TEST_P(Server, JsonIsRepairedOverTheWire) {
  server->push(says("I'd say 7."));
  server->push(says("```json\n{\"n\": 7}\n```"));
  auto chat = connect({.profile = server->profile(GetParam())});
  ASSERT_TRUE(chat);
  auto answer =
      must(ask_json(**chat, request("n?"), Json::parse(R"({"type": "object", "required": ["n"]})")));
  EXPECT_EQ((*answer.value)["n"], 7);
  EXPECT_EQ(server->asked()[1].body->at(GetParam() == Api::responses ? "input" : "messages").size(), 3u);
}

// A server that refuses the schema gets the question without it, and later ones too.
TEST_P(Server, SchemasThatAreRefusedAreLeftOut) {
  server->push(fails_with(400, "Invalid schema for response_format 'answer'"));
  for (int i = 0; i < 2; ++i) server->push(says("{\"n\": 7}"));
  auto chat = connect({.profile = server->profile(GetParam()), .account = &account});
  ASSERT_TRUE(chat);
  const Json schema = Json::parse(R"({"type": "object", "required": ["n"]})");
  for (int i = 0; i < 2; ++i) {
    auto answer = must(ask_json(**chat, request("n?"), schema));
    EXPECT_EQ((*answer.value)["n"], 7);
  }
  const auto asked = server->asked();
  ASSERT_EQ(asked.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(asked[i].body->dump().find("\"required\"") != std::string::npos, i == 0) << i;
  server->push(fails_with(400, "the prompt is too long"));
  EXPECT_EQ(ask_json(**chat, request("n?"), schema).error().code, "llm_request");
}

INSTANTIATE_TEST_SUITE_P(Apis, Server, ::testing::Values(Api::openai, Api::responses, Api::anthropic),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(HttpTransport, NobodyThere) {
  Profile nobody{.name = "p", .url = "http://127.0.0.1:9/v1", .model = "m"};
  auto chat = connect({.profile = nobody, .retry = {.tries = 1}});
  const Error error = (*chat)->ask(request("?")).error();
  EXPECT_EQ(error.code, "llm_unreachable");
  EXPECT_EQ(error.message, "no connection to http://127.0.0.1:9");
  EXPECT_NE(error.fix.find("is a server running at http://127.0.0.1:9?"), std::string::npos);
}

TEST(HttpTransport, StopsWhileItConnects) {
  // An address of a network for documentation: packets to it are lost, or refused at once where there is no
  // route.
  Profile nowhere{.name = "p", .url = "http://192.0.2.1/v1", .model = "m"};
  auto chat = connect({.profile = nowhere, .retry = {.tries = 1}});
  const auto start = Clock::now();
  auto reply = (*chat)->ask(request("?"), {.deadline = start + 50ms});
  EXPECT_FALSE(reply);
  EXPECT_LT(Clock::now() - start, 2s);
}

TEST(HttpTransport, BadAddresses) {
  for (const char* url : {"localhost", "http://x:0/"}) {
    Profile wrong{.name = "p", .url = url, .model = "m"};
    EXPECT_EQ((*connect({.profile = wrong}))->ask(request("?")).error().code, "llm_request");
  }
}

}  // namespace
}  // namespace stitch::llm
