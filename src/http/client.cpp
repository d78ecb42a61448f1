#include "http/client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/descriptor.h"
#include "base/text.h"

namespace stitch::http {

namespace {

using Deadline = std::chrono::steady_clock::time_point;

Error timed_out(const Url& url) {
  return work_error("http_timeout", format("{} did not answer in time", url.origin()));
}

// Until the socket is ready for it, or an Error.
Result<void> ready(int socket, short wanted, const Url& url, Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return timed_out(url);
    pollfd polled{socket, wanted, 0};
    const int count = ::poll(&polled, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR)
      return work_error("http_unreachable", format("{}: {}", url.origin(), std::strerror(errno)));
  }
}

Result<Descriptor> connect_to(const Url& url, Deadline deadline) {
  auto unreachable = [&](const char* why) {
    return work_error("http_unreachable", format("no connection to {}: {}", url.origin(), why),
                      "is the server running there?");
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found))
    return unreachable(::gai_strerror(failed));
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  int failure = 0;
  for (const addrinfo* at = found; at; at = at->ai_next) {
    Descriptor out(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (out.get() < 0) continue;
    if (::connect(out.get(), at->ai_addr, at->ai_addrlen) != 0 && errno != EINPROGRESS) {
      failure = errno;
      continue;
    }
    STITCH_CHECK(ready(out.get(), POLLOUT, url, deadline));
    socklen_t size = sizeof failure;
    ::getsockopt(out.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure != 0) continue;
    const int yes = 1;
    ::setsockopt(out.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return out;
  }
  return unreachable(std::strerror(failure));
}

Result<void> send_all(int socket, std::string_view text, const Url& url, Deadline deadline) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      STITCH_CHECK(ready(socket, POLLOUT, url, deadline));
    } else {
      return {};  // it has closed its side, perhaps after an answer: that is read next
    }
  }
  return {};
}

}  // namespace

std::string Url::origin() const {
  const bool v6 = host.find(':') != std::string::npos;
  return format("http://{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

Result<Url> parse_address(std::string_view text) {
  auto wrong = [&] {
    return user_error("url", format("'{}' is not an http:// address", text), "http://HOST:PORT");
  };
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return wrong();
  std::string_view rest = text.substr(scheme.size());
  Url out;
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) out.path = std::string(rest.substr(slash));
  rest = rest.substr(0, slash);
  const bool bracketed = rest.starts_with('[');
  const size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  if (bracketed && host_end == std::string_view::npos) return wrong();
  out.host = std::string(bracketed ? rest.substr(1, host_end - 1) : rest.substr(0, host_end));
  const size_t colon = rest.find(':', bracketed ? host_end : 0);
  if (colon != std::string_view::npos) {
    const auto port = parse_integer(rest.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return wrong();
    out.port = static_cast<int>(*port);
  }
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 127; });
  if (out.host.empty() || !plain || out.host.find('@') != std::string::npos) return wrong();
  return out;
}

Result<Response> call(const Call& call) {
  const Deadline deadline = std::chrono::steady_clock::now() + call.time_limit;
  STITCH_TRY(Descriptor socket, connect_to(call.url, deadline));
  std::string text = format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nUser-Agent: stitchcuda\r\n",
                            call.method, call.url.path, call.url.origin().substr(7));
  for (const auto& [name, value] : call.headers) text += format("{}: {}\r\n", name, value);
  if (call.method != "GET") text += format("Content-Length: {}\r\n", call.body.size());
  text += "\r\n" + call.body;
  STITCH_CHECK(send_all(socket.get(), text, call.url, deadline));
  Reader reader(Reader::Kind::response, call.limits);
  std::array<char, 16384> buffer;
  while (reader.state() == Reader::State::head || reader.state() == Reader::State::body) {
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      STITCH_CHECK(ready(socket.get(), POLLIN, call.url, deadline));
      continue;
    }
    if (got <= 0) {
      if (reader.untouched())
        return work_error("http_unreachable",
                          format("{} closed the connection without an answer", call.url.origin()));
      reader.end();
      break;
    }
    std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    while (!bytes.empty() &&
           (reader.state() == Reader::State::head || reader.state() == Reader::State::body)) {
      bytes.remove_prefix(std::min(reader.take(bytes), bytes.size()));
      // 100 Continue is followed by the answer itself.
      if (reader.state() == Reader::State::done && reader.response().status == 100)
        reader = Reader(Reader::Kind::response, call.limits);
    }
  }
  if (reader.state() == Reader::State::refused)
    return work_error("http_answer", format("{}: {}", call.url.origin(), reader.why()));
  return std::move(reader.response());
}

}  // namespace stitch::http
