#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>
#include <thread>

#include "base/file.h"
#include "base/machine/descriptor.h"
#include "base/testdata/must.h"
#include "llm/connect.h"
#include "llm/http_chat.h"
#include "llm/scripted_server.h"
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
  auto reply = must(HttpChat(profile(), "sk-1", transport, 1000).ask(request("?"), {}));
  EXPECT_EQ(reply.text, "hello");
  EXPECT_TRUE(reply.usage.estimated);  // the events said 0 and 0
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

// A server with an unsigned certificate.

namespace {

using namespace testing;

// Self-signed for 127.0.0.1's sake by name only: it is neither trusted nor for the host.
struct SelfSigned {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  SelfSigned() {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("nobody"),
                               -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    X509_sign(certificate, key, EVP_sha256());
  }
  ~SelfSigned() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

TEST(HttpTransport, CertificatesAreVerified) {
  SelfSigned own;
  httplib::SSLServer server(own.certificate, own.key);
  bool reached = false;
  server.Post("/v1/chat/completions", [&](const httplib::Request&, httplib::Response&) { reached = true; });
  const int port = server.bind_to_any_port("127.0.0.1");
  ASSERT_GT(port, 0);
  std::thread listening([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto ask = [&](const char* scheme) {
    Profile profile{
        .name = "p", .url = format("{}://127.0.0.1:{}/v1", scheme, port), .model = "m", .timeout = 5};
    return (*connect({.profile = profile, .retry = {.tries = 1}}))->ask(request("?"));
  };
  const Error error = ask("https").error();
  EXPECT_EQ(error.code, "llm_certificate");
  EXPECT_NE(error.message.find("can't be trusted: self"), std::string::npos) << error.message;
  EXPECT_NE(error.fix.find("SSL_CERT_FILE"), std::string::npos);
  EXPECT_EQ(ask("http").error().code, "llm_dropped");  // plain words to a TLS server
  server.stop();
  listening.join();
  EXPECT_FALSE(reached);
}

TEST(HttpTransport, TlsToAPlainServer) {
  httplib::Server server;
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread listening([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Profile profile{.name = "p", .url = format("https://127.0.0.1:{}/v1", port), .model = "m", .timeout = 5};
  const Error error = (*connect({.profile = profile, .retry = {.tries = 1}}))->ask(request("?")).error();
  EXPECT_EQ(error.code, "llm_certificate") << error.text();
  server.stop();
  listening.join();
}

}  // namespace

// What a proxy hears: a socket that keeps the first line and refuses.

namespace {

using namespace testing;

class RefusingProxy {
 public:
  RefusingProxy() : listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    require(::bind(listening_.get(), generic, size) == 0 && ::listen(listening_.get(), 4) == 0 &&
                ::getsockname(listening_.get(), generic, &size) == 0,
            "a port of loopback");
    port = ntohs(address.sin_port);
    serving_ = std::thread([this] {
      Descriptor client(::accept(listening_.get(), nullptr, nullptr));
      char bytes[4096];
      const ssize_t count = ::recv(client.get(), bytes, sizeof bytes, 0);
      heard = count > 0 ? std::string(bytes, count) : "";
      constexpr std::string_view refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
      (void)::send(client.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL);
      ::shutdown(client.get(), SHUT_WR);
    });
  }
  // What it heard.
  std::string end() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    if (serving_.joinable()) serving_.join();
    return heard;
  }
  ~RefusingProxy() { end(); }
  int port = 0;
  std::string heard;

 private:
  Descriptor listening_;
  std::thread serving_;
};

Error ask_through(RefusingProxy& proxy, std::string url) {
  const std::string address = format("http://user:word@127.0.0.1:{}", proxy.port);
  Profile far{.name = "p", .url = std::move(url), .model = "m", .timeout = 5};
  auto chat = connect({.profile = far,
                       .retry = {.tries = 1},
                       .environment = [=](const std::string& name) -> std::optional<std::string> {
                         return name.ends_with("_PROXY") && name != "NO_PROXY" ? std::optional(address)
                                                                               : std::nullopt;
                       }});
  return (*chat)->ask(request("?")).error();
}

TEST(HttpTransport, ProxiesAreAskedForTheWholeAddress) {
  RefusingProxy proxy;
  EXPECT_EQ(ask_through(proxy, "http://far.invalid/v1").code, "llm_auth");  // 403
  const std::string heard = proxy.end();
  EXPECT_TRUE(heard.starts_with("POST http://far.invalid:80/v1/chat/completions HTTP/1.1\r\n")) << heard;
  EXPECT_NE(heard.find("Proxy-Authorization: Basic dXNlcjp3b3Jk"), std::string::npos) << heard;
}

TEST(HttpTransport, TlsGoesThroughProxiesByConnect) {
  RefusingProxy proxy;
  const Error error = ask_through(proxy, "https://far.invalid/v1");
  EXPECT_TRUE(error.code == "llm_unreachable" || error.code == "llm_auth") << error.text();
  const std::string heard = proxy.end();
  EXPECT_TRUE(heard.starts_with("CONNECT far.invalid:443 HTTP/1.1\r\n")) << heard;
  EXPECT_EQ(heard.find("chat/completions"), std::string::npos);
}

}  // namespace

}  // namespace stitch::llm
