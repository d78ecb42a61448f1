#include "http/server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "base/machine/descriptor.h"
#include "base/text.h"

namespace stitch::http {

struct Reply::Inbox {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, Response>> answers;
  Descriptor wake;

  void notify() const {
    const uint64_t one = 1;
    // A full counter is awake already.
    [[maybe_unused]] const ssize_t written = ::write(wake.get(), &one, sizeof one);
  }
};

void Reply::send(Response response) const {
  auto inbox = inbox_.lock();
  if (!inbox) return;
  {
    std::lock_guard hold(inbox->mutex);
    inbox->answers.emplace_back(connection_, std::move(response));
  }
  inbox->notify();
}

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto most_draining = 10s;  // of a body that was refused
constexpr auto last_words = 1s;      // for answers when the server ends

// Error codes as JSON, as every answer here is.
Response refusal(int status, const std::string& why) {
  return {.status = status, .body = format("{{\"error\": {}}}\n", quote(why))};
}

struct Connection {
  enum class Phase : uint8_t { reading, waiting, writing, draining };
  Connection(Descriptor descriptor, Limits limits) : socket(std::move(descriptor)), reader(limits) {}

  Descriptor socket;
  Reader reader;
  Phase phase = Phase::reading;
  std::string unread;  // of the next request
  std::string out;
  size_t written = 0;
  bool keep_alive = true, head_only = false, admitted = false;
  Clock::time_point since = Clock::now();  // of the last byte, or of the phase

  size_t held() { return unread.size() + out.size() + reader.request().body.capacity(); }
};

Result<Descriptor> listen_at(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    return user_error("address",
                      format("'{}' is not an address of this machine: {}", host, ::gai_strerror(failed)),
                      "127.0.0.1, 0.0.0.0 for all, or a name of this machine");
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  int failure = 0;
  for (const addrinfo* at = found; at; at = at->ai_next) {
    Descriptor out(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (out.get() >= 0 && ::bind(out.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(out.get(), 1024) == 0)
      return out;
    failure = errno;
  }
  return user_error("address", format("cannot listen on {}:{}: {}", host, port, std::strerror(failure)),
                    failure == EADDRINUSE ? "another server uses this port: choose another --port"
                                          : "choose another --host or --port");
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

class EventLoop final : public Server {
 public:
  EventLoop(ServerOptions options, Handler handler, Doorkeeper doorkeeper, Descriptor listener,
            Descriptor wake)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        doorkeeper_(std::move(doorkeeper)),
        listener_(std::move(listener)),
        inbox_(std::make_shared<Reply::Inbox>()),
        port_(port_of(listener_.get())) {
    inbox_->wake = std::move(wake);
    thread_ = std::thread([this] { run(); });
  }
  ~EventLoop() override {
    ending_ = true;
    inbox_->notify();
    thread_.join();
  }
  int port() const override { return port_; }
  size_t connections() const override { return count_; }

 private:
  using Connections = std::map<uint64_t, Connection>;

  void run() {
    std::optional<Clock::time_point> end;
    while (true) {
      if (ending_ && !end) end = Clock::now() + last_words;
      if (end && (Clock::now() > *end || nothing_to_say())) return;
      wait(end.has_value());
      deliver();
      serve();
      forget_the_slow();
      count_ = connections_.size();
    }
  }

  bool nothing_to_say() {
    std::lock_guard hold(inbox_->mutex);
    return inbox_->answers.empty() && std::ranges::none_of(connections_, [](const auto& each) {
             return each.second.phase == Connection::Phase::writing;
           });
  }

  // Descriptors in the order of polled_; the first two are the wake and the listener.
  void wait(bool ending) {
    polled_.clear();
    ids_.clear();
    const bool room = !ending && connections_.size() < static_cast<size_t>(options_.most_connections);
    polled_.push_back({inbox_->wake.get(), POLLIN, 0});
    polled_.push_back({room && Clock::now() >= accept_again_ ? listener_.get() : -1, POLLIN, 0});
    for (auto& [id, connection] : connections_) {
      // A client that waits is watched, too: it may hang up.
      const short wanted = connection.phase == Connection::Phase::writing ? POLLOUT : POLLIN;
      polled_.push_back({connection.socket.get(), wanted, 0});
      ids_.push_back(id);
    }
    ::poll(polled_.data(), polled_.size(), 200);
    uint64_t ignored = 0;
    while (::read(inbox_->wake.get(), &ignored, sizeof ignored) > 0) {
    }
    if (polled_[1].revents & POLLIN) accept_all();
  }

  void accept_all() {
    while (connections_.size() < static_cast<size_t>(options_.most_connections)) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() < 0) {
        // Out of descriptors: the backlog is accepted later.
        if (errno == EMFILE || errno == ENFILE) accept_again_ = Clock::now() + 100ms;
        return;
      }
      const int yes = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      connections_.emplace(next_id_++, Connection(std::move(socket), options_.limits));
    }
  }

  void deliver() {
    std::vector<std::pair<uint64_t, Response>> answers;
    {
      std::lock_guard hold(inbox_->mutex);
      answers.swap(inbox_->answers);
    }
    for (auto& [id, response] : answers) {
      auto found = connections_.find(id >> 16);
      // The number of the request on its connection tells late answers from the next one's.
      if (found != connections_.end() && found->second.phase == Connection::Phase::waiting &&
          (requests_[id >> 16] & 0xffff) == (id & 0xffff))
        answer(found->second, response, found->second.keep_alive && !ending_);
    }
  }

  void serve() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      auto found = connections_.find(ids_[i]);
      if (found == connections_.end()) continue;
      const short seen = polled_[i + 2].revents;
      bool open = true;
      if (seen & (POLLERR | POLLNVAL)) open = false;
      if (open && (seen & (POLLIN | POLLHUP))) open = read(found->first, found->second);
      if (open && found->second.phase == Connection::Phase::writing)
        open = write(found->first, found->second);
      if (!open) forget(found);
    }
  }

  // false: the connection is over.
  bool read(uint64_t id, Connection& connection) {
    const ssize_t got = ::recv(connection.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const std::string_view bytes(buffer_.data(), static_cast<size_t>(got));
    if (connection.phase == Connection::Phase::draining) return true;  // since stays: it has its limit
    connection.since = Clock::now();
    if (connection.phase != Connection::Phase::reading) {
      // Sent ahead of our answer.
      if (connection.unread.size() + bytes.size() > options_.limits.head + options_.limits.body) return false;
      connection.unread += bytes;
      return true;
    }
    return take(id, connection, bytes);
  }

  bool take(uint64_t id, Connection& connection, std::string_view bytes) {
    while (true) {
      const size_t used = connection.reader.take(bytes);
      bytes.remove_prefix(std::min(used, bytes.size()));
      if (connection.reader.state() == Reader::State::refused) {
        refuse(connection, refusal(connection.reader.status(), connection.reader.why()));
        return true;
      }
      if (connection.reader.state() != Reader::State::head && !connection.admitted && !admit(connection))
        return true;
      if (connection.reader.state() == Reader::State::done) break;
      if (bytes.empty()) return true;
      if (held() > options_.most_held) {
        refuse(connection, busy());
        return true;
      }
    }
    connection.unread = std::string(bytes);
    Request request = std::move(connection.reader.request());
    connection.keep_alive = request.keep_alive;
    connection.head_only = request.method == "HEAD";
    connection.phase = Connection::Phase::waiting;
    connection.since = Clock::now();
    Reply reply;
    reply.inbox_ = inbox_;
    reply.connection_ = id << 16 | (++requests_[id] & 0xffff);
    handler_(std::move(request), reply);
    return true;
  }

  // Once, when the head is whole.
  bool admit(Connection& connection) {
    connection.admitted = true;
    Request& head = connection.reader.request();
    connection.keep_alive = head.keep_alive;
    connection.head_only = head.method == "HEAD";
    if (doorkeeper_)
      if (auto answer_now = doorkeeper_(head)) {
        refuse(connection, *std::move(answer_now));
        return false;
      }
    if (held() + connection.reader.declared() > options_.most_held) {
      refuse(connection, busy());
      return false;
    }
    if (connection.reader.expects_continue() && connection.reader.state() == Reader::State::body) {
      constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      [[maybe_unused]] const ssize_t sent =
          ::send(connection.socket.get(), go_on.data(), go_on.size(), MSG_NOSIGNAL);
    }
    return true;
  }

  static Response busy() {
    Response out = refusal(429, "too much is being sent at once");
    out.headers.emplace_back("Retry-After", "1");
    return out;
  }

  size_t held() {
    size_t out = 0;
    for (auto& [id, connection] : connections_) out += connection.held();
    return out;
  }

  // What is still being sent is read and forgotten: a client that is cut off in the middle of its body would
  // not see the answer.
  void refuse(Connection& connection, const Response& response) {
    connection.reader.request().body = {};
    answer(connection, response, false);
  }

  static void answer(Connection& connection, const Response& response, bool keep_alive) {
    connection.keep_alive = keep_alive;
    connection.out = text_of(response, keep_alive, !connection.head_only);
    connection.written = 0;
    connection.phase = Connection::Phase::writing;
    connection.since = Clock::now();
  }

  bool write(uint64_t id, Connection& connection) {
    while (connection.written < connection.out.size()) {
      const ssize_t sent = ::send(connection.socket.get(), connection.out.data() + connection.written,
                                  connection.out.size() - connection.written, MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      connection.written += static_cast<size_t>(sent);
      connection.since = Clock::now();
    }
    connection.out = {};
    if (!connection.keep_alive) {
      ::shutdown(connection.socket.get(), SHUT_WR);
      connection.phase = Connection::Phase::draining;
      connection.since = Clock::now();
      return true;
    }
    std::string unread = std::exchange(connection.unread, {});
    connection.reader = Reader(options_.limits);
    connection.admitted = false;
    connection.phase = Connection::Phase::reading;
    return unread.empty() || take(id, connection, unread);
  }

  void forget_the_slow() {
    const auto now = Clock::now();
    for (auto at = connections_.begin(); at != connections_.end();) {
      Connection& connection = at->second;
      const auto silence = now - connection.since;
      at = silence > patience_with(at->first, connection) ? forget(at) : std::next(at);
    }
  }

  Clock::duration patience_with(uint64_t id, const Connection& connection) const {
    switch (connection.phase) {
      case Connection::Phase::draining: return most_draining;
      case Connection::Phase::waiting: return Clock::duration::max();  // for us
      default: break;
    }
    // Connections that were used before may rest for the next request.
    const bool resting = connection.reader.untouched() && requests_.contains(id);
    return resting ? 10 * options_.patience : options_.patience;
  }

  Connections::iterator forget(Connections::iterator at) {
    requests_.erase(at->first);
    return connections_.erase(at);
  }

  const ServerOptions options_;
  const Handler handler_;
  const Doorkeeper doorkeeper_;
  const Descriptor listener_;
  const std::shared_ptr<Reply::Inbox> inbox_;
  const int port_;
  Connections connections_;
  std::map<uint64_t, uint64_t> requests_;  // how many came over each connection
  std::vector<pollfd> polled_;
  std::vector<uint64_t> ids_;
  std::array<char, size_t{64} << 10> buffer_{};
  uint64_t next_id_ = 1;
  Clock::time_point accept_again_{};
  std::atomic<size_t> count_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler,
                                              Doorkeeper doorkeeper) {
  STITCH_TRY(Descriptor listener, listen_at(options.host, options.port));
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return work_error("server", "no file descriptors left");
  return std::unique_ptr<Server>(std::make_unique<EventLoop>(
      options, std::move(handler), std::move(doorkeeper), std::move(listener), std::move(wake)));
}

}  // namespace stitch::http
