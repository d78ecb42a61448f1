// The protocol, with tools that take no time or all of it.
#include "serve/mcp.h"

#include <gtest/gtest.h>

#include "base/machine/interrupt.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "serve/schema.h"
#include "serve/testdata/client.h"

namespace stitch::serve {
namespace {

using std::chrono::seconds;

Tool tool(std::string name, bool quick, std::function<Result<Answer>(const Json&, Call&)> run) {
  return {.name = std::move(name),
          .title = "A tool",
          .description = "for tests",
          .schema = schema_of(
              {{.name = "text", .description = "said again", .required = true},
               {.name = "count", .kind = Kind::integer, .description = "how often", .least = 1, .most = 9},
               {.name = "colour", .description = "which", .values = {"red", "green"}},
               {.name = "loud", .kind = Kind::flag, .description = "or not"},
               {.name = "names", .kind = Kind::texts, .description = "some"},
               {.name = "plan", .kind = Kind::object, .description = "anything"}}),
          .quick = quick,
          .run = std::move(run)};
}

Result<Answer> say_again(const Json& arguments, Call&) {
  return Answer{text(arguments, "text"), std::make_shared<const Json>(arguments), {}};
}

McpOptions options() {
  McpOptions all;
  all.version = "9.9";
  all.notes = notes::built_in();
  all.prompts = prompts::built_in();
  all.plan_schema = std::make_shared<const Json>(Json{{"type", "object"}});
  all.tools = {
      tool("echo", true, say_again),
      tool("slow_echo", false, say_again),
      tool("wait", false,
           [](const Json&, Call& call) -> Result<Answer> {
             for (int i = 0; !call.stopped(); ++i) {
               if (i % 10 == 0) call.progress("waiting");
               std::this_thread::sleep_for(std::chrono::milliseconds(10));
             }
             return Answer{"waited", nullptr, {}};
           }),
      tool("child", false,
           [](const Json&, Call& call) -> Result<Answer> {
             call.progress("sleeping");
             STITCH_TRY(const Finished finished, run({.words = {"sleep", "600"}, .extra_environment = {}}));
             return Answer{std::to_string(finished.exit_code), nullptr, {}};
           }),
      tool("fails", false,
           [](const Json&, Call&) -> Result<Answer> {
             return work_error("broken", "it is broken", "mend it");
           }),
      tool("throws", false, [](const Json&, Call&) -> Result<Answer> { throw Bug("impossible"); }),
      tool("large", false, [](const Json& arguments, Call& call) -> Result<Answer> {
        const std::string uri = call.keep("plan", "a plan", "{\"large\": true}");
        return Answer{std::string(1 << 20, 'x'),
                      std::make_shared<const Json>(Json{{"text", std::string(1 << 20, 'y')}, {"uri", uri}}),
                      {uri}};
        (void)arguments;
      })};
  return all;
}

class Mcp : public testing::Test {
 protected:
  const McpOptions all = options();
  Client client{all};
};

// Older names of arguments are taken, and flags of the command line are said as arguments.
TEST(Schema, KnowsOlderNamesAndFlags) {
  const auto schema = schema_of({{.name = "model", .description = "", .required = true},
                                 {.name = "mode", .description = ""},
                                 {.name = "coder_style", .description = ""}});
  const Json old = with_present_names(*schema, {{"task", "x.py"}, {"mode", "eval"}});
  EXPECT_EQ(old, (Json{{"mode", "eval"}, {"model", "x.py"}}));
  EXPECT_TRUE(check_arguments(*schema, old));
  EXPECT_FALSE(check_arguments(*schema, with_present_names(*schema, {{"task", "x.py"}, {"model", "y.py"}})));
  EXPECT_EQ(check_arguments(*schema, {{"modle", "x.py"}}).error().fix, "did you mean 'model'?");
  EXPECT_EQ(in_arguments(*schema, "verify it with --eval, or --coder-style agent; start it with --root X"),
            "verify it with 'mode' eval, or 'coder_style' agent; start it with --root X");
}

TEST_F(Mcp, AgreesOnAVersion) {
  const Json hello = client.hello("2025-03-26");
  EXPECT_EQ(hello["protocolVersion"], "2025-03-26");
  EXPECT_EQ(hello["serverInfo"]["name"], "stitchcuda");
  EXPECT_EQ(hello["serverInfo"]["version"], "9.9");
  EXPECT_EQ(client.hello("1999-01-01")["protocolVersion"], "2025-11-25");
  EXPECT_EQ(client.hello("2024-11-05")["protocolVersion"], "2024-11-05");
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
}

TEST_F(Mcp, BeginsWithInitialize) {
  EXPECT_TRUE(client.ask("ping").contains("result"));
  EXPECT_EQ(client.ask("tools/list")["error"]["message"], "the session must begin with initialize");
  EXPECT_EQ(client.ask("server/discover")["error"]["code"], -32601);
  EXPECT_EQ(client.ask("initialize")["error"]["code"], -32602);
}

TEST_F(Mcp, ListsToolsWithTheirSchemas) {
  client.hello();
  const Json tools = client.ask("tools/list")["result"]["tools"];
  ASSERT_EQ(tools.size(), all.tools.size());
  EXPECT_EQ(tools[0]["name"], "echo");
  EXPECT_EQ(tools[0]["inputSchema"]["type"], "object");
  EXPECT_EQ(tools[0]["inputSchema"]["required"], Json({"text"}));
  EXPECT_EQ(tools[0]["inputSchema"]["properties"]["colour"]["enum"], Json({"red", "green"}));
  EXPECT_EQ(tools[0]["annotations"]["readOnlyHint"], true);
}

TEST_F(Mcp, CallsTools) {
  client.hello();
  for (const char* name : {"echo", "slow_echo"}) {
    const Json result =
        client.tool(name, {{"text", "grüße"}, {"count", 3}, {"names", {"a"}}, {"plan", {{"b", 1}}}});
    EXPECT_EQ(Client::said(result), "grüße");
    EXPECT_EQ(result["structuredContent"]["count"], 3);
    EXPECT_EQ(result["isError"], false);
  }
}

TEST_F(Mcp, ErrorsNameTheArgument) {
  client.hello();
  auto complaint = [&](Json arguments) {
    const Json result = client.tool("echo", std::move(arguments));
    EXPECT_EQ(result["isError"], true);
    return Client::said(result);
  };
  EXPECT_EQ(complaint(Json::object()), "\"text\" is missing");
  EXPECT_EQ(complaint({{"text", 7}}), "'text' must be of type string, is 7");
  EXPECT_EQ(complaint({{"txt", "a"}}), "unknown argument 'txt'\nfix: did you mean 'text'?");
  EXPECT_EQ(complaint({{"text", "a"}, {"count", 10}}), "'count' must be at most 9, is 10");
  EXPECT_EQ(complaint({{"text", "a"}, {"count", 18446744073709551615u}}),
            "'count' must be at most 9, is 18446744073709551615");
  EXPECT_EQ(complaint({{"text", "a"}, {"count", 1.5}}), "'count' must be of type integer, is 1.5");
  EXPECT_EQ(complaint({{"text", "a"}, {"colour", "blue"}}),
            "'colour' must be one of \"red\", \"green\", is \"blue\"");
  EXPECT_EQ(complaint({{"text", "a"}, {"loud", "yes"}}), "'loud' must be of type boolean, is \"yes\"");
  EXPECT_EQ(complaint({{"text", "a"}, {"names", {1}}}), "'names[0]' must be of type string, is 1");
  EXPECT_EQ(complaint({{"text", "a"}, {"plan", "b"}}), "'plan' must be of type object, is \"b\"");
  EXPECT_TRUE(complaint({{"text", std::string(5000, 'a')}})
                  .starts_with("'text' must have a length of at most 4096, is \"aaa"));
  EXPECT_EQ(complaint(Json::array()), "the arguments must be an object");
}

TEST_F(Mcp, FailuresAndBugsOfToolsAreAnswers) {
  client.hello();
  Json result = client.tool("fails", {{"text", "a"}});
  EXPECT_EQ(Client::said(result), "it is broken\nfix: mend it");
  EXPECT_EQ(result["structuredContent"]["error"]["code"], "broken");
  result = client.tool("throws", {{"text", "a"}});
  EXPECT_EQ(result["isError"], true);
  EXPECT_NE(Client::said(result).find("a bug in stitchcuda"), std::string::npos);
  EXPECT_EQ(Client::said(client.tool("echo", {{"text", "alive"}})), "alive");
}

TEST_F(Mcp, BadMessagesGetErrors) {
  client.hello();
  auto code_for = [&](const std::string& line) {
    client.send_text(line);
    const Json answer =
        client.receive([](const Json& message) { return message.contains("error"); }, seconds(10));
    return answer.is_null() ? 0 : answer["error"]["code"].get<int>();
  };
  EXPECT_EQ(code_for("{bad"), -32700);
  EXPECT_EQ(code_for(std::string(100'000, '[')), -32700);
  EXPECT_EQ(code_for("7"), -32600);
  EXPECT_EQ(code_for("[]"), -32600);
  EXPECT_EQ(code_for(R"({"id": 5, "method": "ping"})"), -32600);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": null, "method": "ping"})"), -32600);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5})"), -32600);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": 6})"), -32600);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": [1]})"), -32602);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "nothing"}})"),
            -32602);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": 3}})"),
            -32602);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": "five", "method": "tools/sing"})"), -32601);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {}})"), -32602);
  EXPECT_EQ(code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "x"}})"),
            -32002);
  EXPECT_EQ(
      code_for(R"({"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "x"}})"),
      -32602);
  // These get no answer.
  client.send_text("");
  client.send_text(R"({"jsonrpc": "2.0", "method": "notifications/unknown"})");
  client.send_text(
      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}})");
  client.send_text(R"({"jsonrpc": "2.0", "id": 99, "result": {}})");
  EXPECT_TRUE(client.ask("ping").contains("result"));
}

TEST_F(Mcp, ALineOfTenMegabytesIsThrownAway) {
  client.hello();
  client.send(
      {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}, {"params", {{"x", std::string(10'000'000, 'x')}}}});
  const Json answer =
      client.receive([](const Json& message) { return message.contains("error"); }, seconds(30));
  EXPECT_EQ(answer["error"]["message"], "a message larger than 8.39 MB was discarded");
  EXPECT_TRUE(client.ask("ping").contains("result"));
}

TEST_F(Mcp, BatchesAreAnsweredTogether) {
  client.hello("2025-03-26");
  client.send_text(
      R"([{"jsonrpc": "2.0", "id": 71, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"},
)"
      R"({"jsonrpc": "2.0", "id": 72, "method": "tools/call", "params": {"name": "slow_echo", "arguments": {"text": "a"}}}])");
  // The newline inside made two broken lines of it; on one line it is a batch.
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.receive([](const Json& m) { return m.contains("error"); }, seconds(10))["error"]["code"],
              -32700);
  client.send_text(
      R"([{"jsonrpc": "2.0", "id": 71, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"}, )"
      R"({"jsonrpc": "2.0", "id": 72, "method": "tools/call", "params": {"name": "slow_echo", "arguments": {"text": "a"}}}])");
  const Json answers = client.receive([](const Json& message) { return message.is_array(); }, seconds(10));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["id"], 71);
  EXPECT_EQ(answers[1]["result"]["content"][0]["text"], "a");
}

TEST_F(Mcp, ProgressComesAndPingsGetThrough) {
  client.hello();
  const int id = client.start_tool("wait", {{"text", ""}}, "token");
  double before = 0;
  for (int i = 0; i < 3; ++i) {
    const Json told = client.notified("notifications/progress");
    ASSERT_FALSE(told.is_null());
    EXPECT_EQ(told["params"]["progressToken"], "token");
    EXPECT_GT(told["params"]["progress"].get<double>(), before);
    before = told["params"]["progress"].get<double>();
  }
  EXPECT_TRUE(client.ask("ping").contains("result"));
  EXPECT_EQ(Client::said(client.tool("echo", {{"text", "beside"}})), "beside");
  client.send({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}});
  EXPECT_EQ(Client::said(client.tool("slow_echo", {{"text", "next"}})), "next");
}

TEST_F(Mcp, ACancelledCallEndsSoonAndIsNotAnswered) {
  client.hello();
  client.ask("logging/setLevel", {{"level", "debug"}});
  for (const char* name : {"wait", "child"}) {
    const int id = client.start_tool(name, {{"text", ""}}, 5);
    ASSERT_FALSE(client.notified("notifications/progress").is_null());
    const int waiting = client.start_tool("slow_echo", {{"text", "never"}});
    for (int each : {waiting, id})
      client.send({{"jsonrpc", "2.0"},
                   {"method", "notifications/cancelled"},
                   {"params", {{"requestId", each}, {"reason", "changed my\x1b mind"}}}});
    const Json stopped = client.receive(
        [](const Json& message) {
          return word(message, "method") == "notifications/message" &&
                 message["params"]["data"].get<std::string>().find("stopped") != std::string::npos;
        },
        seconds(60));
    ASSERT_FALSE(stopped.is_null()) << name;
    EXPECT_TRUE(client.answer_to(id, seconds(0)).is_null());
    EXPECT_TRUE(client.answer_to(waiting, seconds(0)).is_null());
    EXPECT_EQ(Client::said(client.tool("slow_echo", {{"text", "next"}})), "next");
  }
}

TEST_F(Mcp, TheEndOfInputEndsWhatRuns) {
  client.hello();
  client.start_tool("child", {{"text", ""}}, 5);
  ASSERT_FALSE(client.notified("notifications/progress").is_null());
  client.start_tool("slow_echo", {{"text", "never"}});
  const auto begin = std::chrono::steady_clock::now();
  client.leave();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(300));
}

TEST_F(Mcp, LongAnswersBecomeResources) {
  client.hello();
  const Json result = client.tool("large", {{"text", "a"}});
  EXPECT_LT(Client::said(result).size(), most_text_bytes + 100);
  EXPECT_EQ(result["structuredContent"]["too_long"], true);
  const auto uri = result["structuredContent"]["resource"].get<std::string>();
  const Json whole = client.ask("resources/read", {{"uri", uri}})["result"]["contents"][0];
  EXPECT_GT(whole["text"].get<std::string>().size(), size_t{1} << 20);
  EXPECT_EQ(result["content"][1]["type"], "resource_link");
  const Json plan =
      client.ask("resources/read", {{"uri", result["content"][1]["uri"]}})["result"]["contents"][0];
  EXPECT_EQ(plan["text"], "{\"large\": true}");
  EXPECT_EQ(plan["mimeType"], "application/json");
  EXPECT_FALSE(client.notified("notifications/resources/list_changed").is_null());
  EXPECT_EQ(client.ask("resources/list")["result"]["resources"].size(), 3u);  // and the schema
}

TEST_F(Mcp, OlderClientsGetNoLinks) {
  client.hello("2025-03-26");
  EXPECT_EQ(client.tool("large", {{"text", "a"}})["content"].size(), 1u);
}

TEST_F(Mcp, NotesPromptsAndSchemasAreResources) {
  client.hello();
  auto read = [&](const char* uri) {
    return client.ask("resources/read", {{"uri", uri}})["result"]["contents"][0]["text"].get<std::string>();
  };
  EXPECT_NE(read("stitchcuda://notes/wgmma").find("## wgmma"), std::string::npos);
  EXPECT_NE(read("stitchcuda://prompts/judge").find("{{rubric}}"), std::string::npos);
  EXPECT_NE(read("stitchcuda://schema/plan").find("object"), std::string::npos);
  EXPECT_GE(client.ask("resources/templates/list")["result"]["resourceTemplates"].size(), 5u);
}

TEST_F(Mcp, OffersOnePrompt) {
  client.hello();
  const Json prompts = client.ask("prompts/list")["result"]["prompts"];
  ASSERT_EQ(prompts.size(), 1u);
  const Json got =
      client.ask("prompts/get", {{"name", prompts[0]["name"]}, {"arguments", {{"model", "a \"b\".py"}}}});
  EXPECT_NE(got["result"]["messages"][0]["content"]["text"].get<std::string>().find(R"("a \"b\".py")"),
            std::string::npos);
  EXPECT_EQ(client.ask("prompts/get", {{"name", prompts[0]["name"]}})["error"]["code"], -32602);
  EXPECT_EQ(client.ask("prompts/get", {{"name", "x"}})["error"]["code"], -32602);
}

}  // namespace
}  // namespace stitch::serve
