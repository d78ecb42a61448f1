#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/machine/descriptor.h"
#include "base/testdata/must.h"
#include "http/client.h"
#include "http/server.h"

namespace stitch::http {
namespace {

Reader read(std::string_view bytes, size_t piece = 1000, Limits limits = {}) {
  Reader reader(limits);
  while (!bytes.empty()) {
    const size_t used = reader.take(bytes.substr(0, piece));
    if (used == 0) break;
    bytes.remove_prefix(used);
  }
  return reader;
}

TEST(Message, IsReadInPiecesOfAnySize) {
  for (size_t piece : {1, 2, 3, 7, 1000}) {
    Reader plain =
        read("POST /a%20b?wait=3&x=%2F HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", piece);
    ASSERT_EQ(plain.state(), Reader::State::done) << piece;
    EXPECT_EQ(plain.request().path, "/a b");
    EXPECT_EQ(plain.request().parameter("x"), "/");
    EXPECT_EQ(plain.request().body, "hello");
    Reader chunked = read(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n",
        piece);
    ASSERT_EQ(chunked.state(), Reader::State::done) << piece;
    EXPECT_EQ(chunked.request().body, "hello");
  }
}

TEST(Message, WhatIsMalformedOrHasTwoReadingsIsRefused) {
  const std::pair<const char*, int> wrong[] = {
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET http://x/ HTTP/1.1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413},
  };
  for (const auto& [text, status] : wrong) {
    Reader reader = read(text);
    EXPECT_EQ(reader.state(), Reader::State::refused) << text;
    EXPECT_EQ(reader.status(), status) << text;
  }
  EXPECT_EQ(read("GET / HTTP/1.1\r\nA: " + std::string(100'000, 'x')).status(), 431);
  const std::string chunks =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + std::string(255, 'x');
  EXPECT_EQ(read(chunks, 1000, {.body = 100}).status(), 413);
}

TEST(Url, Parts) {
  auto url = parse_url("https://me:pw@[::1]:8443/v1/x?y");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->user, "me:pw");
  EXPECT_EQ(url->origin(), "https://[::1]:8443");
  EXPECT_EQ(url->path, "/v1/x?y");
  EXPECT_EQ(parse_url("http://host")->port, 80);
  for (const char* bad : {"", "host", "ftp://x", "http://", "http://x:99999/", "http://x:/", "http://[::1/"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

TEST(Address, IsOneOrSaysWhatOneIs) {
  auto url = parse_address("http://[::1]:81/a?b=c");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 81);
  EXPECT_EQ(url->path, "/a?b=c");
  for (const char* wrong :
       {"https://x", "x", "http://", "http://x:0", "http://x:a", "http://a b/", "http://u@x/"})
    EXPECT_FALSE(parse_address(wrong)) << wrong;
}

TEST(Address, IsLoopbackByItsNumbers) {
  for (const char* here : {"127.0.0.1", "127.3.2.1", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* elsewhere : {"", "0.0.0.0", "128.0.0.1", "127.evil.example", "127.0.0.attacker.com",
                                "127.0.0.1.attacker.com", "localhost.attacker.com", "::2"})
    EXPECT_FALSE(is_loopback(elsewhere)) << elsewhere;
}

class Served : public testing::Test {
 protected:
  void serve(Handler handler, ServerOptions options = {}, Doorkeeper doorkeeper = {}) {
    server = must(Server::start(options, std::move(handler), std::move(doorkeeper)));
  }
  Result<Response> post(std::string path, std::string body = {}) const {
    return call({.method = "POST",
                 .url = {.host = "127.0.0.1", .path = std::move(path), .port = server->port()},
                 .body = std::move(body)});
  }
  // A socket of our own, for clients that no library would be.
  Descriptor connected() const {
    Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return out;
  }
  static std::string everything(int socket) {
    std::string out;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      out.append(buffer, static_cast<size_t>(got));
    return out;
  }
  std::unique_ptr<Server> server;
};

TEST_F(Served, HundredsWaitForTheirAnswersAtOnce) {
  std::mutex mutex;
  std::vector<std::pair<std::string, Reply>> waiting;
  serve([&](Request&& request, Reply reply) {
    std::lock_guard hold(mutex);
    waiting.emplace_back(request.body, reply);
    if (waiting.size() < 200) return;
    for (auto& [body, each] : waiting) each.send({.body = "you said " + body});
  });
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int i = 0; i < 200; ++i)
    clients.emplace_back([&, i] {
      auto answer = post("/", std::to_string(i));
      if (answer && answer->body == "you said " + std::to_string(i)) ++right;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 200);
}

TEST_F(Served, AConnectionIsUsedAgainAndRequestsMayBeSentAhead) {
  serve([](Request&& request, Reply reply) { reply.send({.body = request.path}); });
  const Descriptor socket = connected();
  const std::string two = "GET /one HTTP/1.1\r\n\r\nGET /two HTTP/1.1\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(::send(socket.get(), two.data(), two.size(), 0), static_cast<ssize_t>(two.size()));
  const std::string answers = everything(socket.get());
  EXPECT_LT(answers.find("/one"), answers.find("/two"));
  EXPECT_NE(answers.find("/two"), std::string::npos);
}

TEST_F(Served, ALargeBodyIsRefusedBeforeItIsKeptAndItsSenderIsTold) {
  std::atomic<int> handled = 0;
  serve([&](Request&&, Reply reply) {
    ++handled;
    reply.send({});
  });
  auto answer = must(post("/", std::string(size_t{50} << 20, 'x')));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(handled, 0);
}

TEST_F(Served, TheDoorkeeperSeesTheHeadBeforeTheBody) {
  serve([](Request&&, Reply reply) { reply.send({}); }, {},
        [](const Request& head) -> std::optional<Response> {
          if (head.path == "/open") return std::nullopt;
          return Response{.status = 401};
        });
  EXPECT_EQ(post("/open")->status, 200);
  const Descriptor socket = connected();
  const std::string head = "POST /closed HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
  ASSERT_EQ(::send(socket.get(), head.data(), head.size(), 0), static_cast<ssize_t>(head.size()));
  char buffer[64];
  ASSERT_GT(::recv(socket.get(), buffer, sizeof buffer, 0), 12);
  EXPECT_EQ(std::string_view(buffer, 12), "HTTP/1.1 401");
}

TEST_F(Served, WhoHangsUpIsForgotten) {
  std::mutex mutex;
  std::vector<Reply> held;
  serve([&](Request&&, Reply reply) {
    std::lock_guard hold(mutex);
    held.push_back(reply);
  });
  auto is_held = [&] {
    std::lock_guard hold(mutex);
    return !held.empty();
  };
  {
    const Descriptor gone = connected();
    const std::string request = "GET / HTTP/1.1\r\n\r\n";
    ASSERT_GT(::send(gone.get(), request.data(), request.size(), 0), 0);
    for (int i = 0; i < 3000 && !is_held(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (int i = 0; i < 3000 && server->connections() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(server->connections(), 0u);
  std::lock_guard hold(mutex);
  ASSERT_EQ(held.size(), 1u);
  held[0].send({.body = "too late"});
}

TEST_F(Served, WhoSaysNothingIsForgotten) {
  serve([](Request&&, Reply reply) { reply.send({}); }, {.patience = std::chrono::milliseconds(100)});
  const Descriptor silent = connected();
  EXPECT_EQ(everything(silent.get()), "");  // until the server closes it
}

TEST_F(Served, AnAddressThatIsTakenIsSaid) {
  serve([](Request&&, Reply reply) { reply.send({}); });
  auto second = Server::start({.port = server->port()}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().blame, Error::Blame::user);
  EXPECT_NE(second.error().fix.find("--port"), std::string::npos);
}

TEST(Client, SaysThatNobodyIsThere) {
  auto answer = call({.url = {.host = "127.0.0.1", .port = 1}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, "http_unreachable");
}

}  // namespace
}  // namespace stitch::http
