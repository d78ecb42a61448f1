// What a proxy hears: a socket that keeps the first line and refuses.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/machine/descriptor.h"
#include "llm/connect.h"
#include "llm/testing.h"

namespace stitch::llm {
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
