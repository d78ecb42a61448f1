#include "llm/http_chat.h"

#include <gtest/gtest.h>

#include "llm/connect.h"
#include "llm/scripted_bodies.h"
#include "llm/testing.h"

namespace stitch::llm {
namespace {

using namespace testing;

Profile profile() { return {.name = "p", .url = "https://x.test/v1/", .model = "m", .key_env = "P_KEY"}; }

std::string code_of(std::vector<std::string> pieces, size_t limit = 1 << 20) {
  auto transport = std::make_shared<FakeTransport>();
  transport->pieces = std::move(pieces);
  auto reply = HttpChat(profile(), "sk-1", transport, limit).ask(request("?"), {});
  return reply ? "fine: " + reply->text : reply.error().code;
}

TEST(HttpChat, StreamsAndDocuments) {
  auto transport = std::make_shared<FakeTransport>();
  transport->pieces = openai_events({.text = "hello", .finish = Finish::stop}, 2);
  auto reply = HttpChat(profile(), "sk-1", transport, 1000).ask(request("?"), {});
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ(reply->text, "hello");
  EXPECT_TRUE(reply->usage.estimated);  // the events said 0 and 0
  ASSERT_EQ(transport->posted.size(), 1u);
  EXPECT_EQ(transport->posted[0].url.origin() + transport->posted[0].url.path,
            "https://x.test:443/v1/chat/completions");
  EXPECT_EQ(transport->posted[0].body.find("sk-1"), std::string::npos);
  EXPECT_EQ(code_of({"\n", openai_document({.text = "whole"})}), "fine: whole");
}

TEST(HttpChat, BadBodies) {
  EXPECT_EQ(code_of({}), "llm_dropped");
  EXPECT_EQ(code_of({"  \n"}), "llm_dropped");
  EXPECT_EQ(code_of({"<html>not found</html>"}), "llm_format");
  EXPECT_EQ(code_of({"{\"choices\": ["}), "llm_dropped");
  EXPECT_EQ(code_of({"{\"hello\": 1}"}), "llm_format");
  EXPECT_EQ(code_of({std::string("\x00\x01\x02garbage\xFF\n\n", 13)}), "llm_dropped");
  EXPECT_EQ(code_of({"data: \xFF\xFE\n\n"}), "llm_format");
  EXPECT_EQ(code_of({"{" + std::string(100000, ' ')}, 10000), "llm_too_large");
  EXPECT_EQ(code_of(std::vector<std::string>(1000, ": a comment that never ends\n"), 100), "llm_too_large");
}

Error status(int code, std::string_view body = "") { return status_error(profile(), code, body); }

TEST(HttpChat, StatusesSayWhatToDo) {
  EXPECT_EQ(status(401, R"({"error": {"message": "bad key"}})").text(),
            "https://x.test/v1/ (401) rejects the API key: bad key\nfix: check the key in $P_KEY");
  EXPECT_EQ(
      status(404).text(),
      "https://x.test/v1/ (404) has no model 'm', or no /chat/completions\nfix: check model, url and api of "
      "the profile p");
  EXPECT_EQ(status(400, R"({"error": "too\u001b hot"})").message,
            "https://x.test/v1/ (400) rejects the request: too? hot");
  EXPECT_EQ(status(422, R"({"detail": [{"msg": "x"}]})").message,
            "https://x.test/v1/ (422) rejects the request: [{\"msg\":\"x\"}]");
  EXPECT_EQ(status(500, "<html>oh").message, "https://x.test/v1/ (500) failed: <html>oh");
  for (int code : {401, 403, 400, 402, 404, 413, 422, 302}) EXPECT_EQ(status(code).exit_code(), 2) << code;
  for (int code : {408, 429, 500, 502, 503, 529}) EXPECT_EQ(status(code).exit_code(), 1) << code;
  EXPECT_LT(status(500, std::string(100000, 'x')).message.size(), 500u);
}

TEST(HttpChat, KeysAreHiddenInWhatServersSay) {
  auto transport = std::make_shared<FakeTransport>();
  transport->head.status = 401;
  transport->pieces = {R"({"error": {"message": "Incorrect key sk-very-secret."}})"};
  auto reply = HttpChat(profile(), "sk-very-secret", transport, 1000).ask(request("?"), {});
  EXPECT_EQ(reply.error().message, "https://x.test/v1/ (401) rejects the API key: Incorrect key [key].");
}

TEST(HttpChat, RetryAfter) {
  auto wait = [](http::Headers headers) {
    return retry_after({.status = 429, .headers = std::move(headers)});
  };
  EXPECT_EQ(wait({{"retry-after", "3"}}), 3);
  EXPECT_EQ(wait({{"retry-after-ms", "250"}, {"retry-after", "1"}}), 0.25);
  EXPECT_EQ(wait({{"retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"}}), std::nullopt);
  EXPECT_EQ(wait({{"retry-after", "-3"}}), std::nullopt);
  EXPECT_EQ(wait({}), std::nullopt);
}

TEST(Connect, MissingKeysAreNoticedAtOnce) {
  Connection connection{.profile = profile(), .environment = [](const std::string&) { return std::nullopt; }};
  EXPECT_EQ(connect(connection).error().code, "llm_key");
}

TEST(Connect, TriesAreCountedRetriedAndWrittenDown) {
  Account account;
  std::vector<Json> kept;
  auto transport = std::make_shared<FakeTransport>();
  transport->head.status = 503;
  Connection connection{.profile = profile(),
                        .agent = Agent::verifier,
                        .account = &account,
                        .transcript =
                            [&](const Json& exchange) {
                              kept.push_back(exchange);
                              return Result<void>();
                            },
                        .retry = {.tries = 3, .first_wait = 0},
                        .transport = transport,
                        .environment = [](const std::string&) { return "sk-very-secret"; }};
  auto chat = connect(connection);
  ASSERT_TRUE(chat);
  EXPECT_EQ((*chat)->ask(request("?")).error().code, "llm_server");
  EXPECT_EQ(transport->posted.size(), 3u);
  EXPECT_EQ(account.spent(Agent::verifier).failed, 3);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0]["error"]["code"], "llm_server");
  EXPECT_EQ(kept[0].dump().find("sk-very-secret"), std::string::npos);
}

TEST(Proxy, FromTheEnvironment) {
  auto proxy = [](std::string url, std::map<std::string, std::string> variables) {
    return proxy_for(*http::parse_url(url),
                     [&](const std::string& name) -> std::optional<std::string> {
                       auto found = variables.find(name);
                       return found == variables.end() ? std::nullopt : std::optional(found->second);
                     })
        .value_or("direct");
  };
  const std::string https = "https://api.example.com/v1";
  EXPECT_EQ(proxy(https, {}), "direct");
  EXPECT_EQ(proxy(https, {{"HTTPS_PROXY", "http://p:3128"}}), "http://p:3128");
  EXPECT_EQ(proxy(https, {{"https_proxy", "q:1"}, {"HTTPS_PROXY", "http://p:3128"}}), "http://q:1");
  EXPECT_EQ(proxy(https, {{"HTTP_PROXY", "http://p:3128"}}), "direct");
  EXPECT_EQ(proxy("http://example.com/", {{"http_proxy", "http://p:3128"}}), "http://p:3128");
  EXPECT_EQ(proxy(https, {{"ALL_PROXY", "http://p:3128"}}), "http://p:3128");
  for (const char* exception :
       {"*", "example.com", ".example.com", "a.b, api.example.com:443", "*.example.com", "API.EXAMPLE.COM"})
    EXPECT_EQ(proxy(https, {{"HTTPS_PROXY", "p:1"}, {"NO_PROXY", exception}}), "direct") << exception;
  for (const char* other : {"ample.com", "api.example.com:80", "example.org", ""})
    EXPECT_EQ(proxy(https, {{"HTTPS_PROXY", "p:1"}, {"no_proxy", other}}), "http://p:1") << other;
  EXPECT_EQ(proxy("http://localhost:11434/v1", {{"http_proxy", "p:1"}}), "direct");
  EXPECT_EQ(proxy("http://[::1]:80/v1", {{"http_proxy", "p:1"}}), "direct");
}

}  // namespace
}  // namespace stitch::llm
