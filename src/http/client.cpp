#include "http/client.h"

#ifdef STITCH_HAVE_HTTPLIB

#include <fcntl.h>
#include <httplib.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error_codes.h"
#include "base/machine/descriptor.h"
#include "base/text.h"

namespace stitch::http {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr auto look_every = 50ms;
constexpr auto patience = 300ms;         // with a request that was told to stop
constexpr size_t most_queued = 4 << 20;  // bytes that wait for the reader
constexpr auto never = std::chrono::hours(7 * 24);

// What the thread that talks to the server and the thread that asked share. The first one may outlive the
// second: a name server can't be told to stop.
struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  Response head;
  std::deque<std::string> pieces;
  size_t queued = 0;
  bool cancelled = false, done = false, answered = false;
  httplib::Error error = httplib::Error::Success;
  long certificate = 0;  // OpenSSL's verdict
  Descriptor socket;     // a duplicate: shutting it down ends the connection
};

bool take_head(Exchange& exchange, const httplib::Response& response) {
  std::lock_guard lock(exchange.mutex);
  exchange.answered = true;
  exchange.head.status = response.status;
  for (const auto& [key, value] : response.headers)
    exchange.head.headers.emplace_back(lower_case(key), value);
  exchange.changed.notify_all();
  return !exchange.cancelled;
}

bool take_piece(Exchange& exchange, const char* data, size_t size) {
  std::unique_lock lock(exchange.mutex);
  exchange.changed.wait(lock, [&] { return exchange.cancelled || exchange.queued < most_queued; });
  exchange.pieces.emplace_back(data, size);
  exchange.queued += size;
  exchange.changed.notify_all();
  return !exchange.cancelled;
}

void talk(const std::shared_ptr<Exchange>& exchange, httplib::Client& client, httplib::Request& request) {
  // The library writes to sockets whose other end may be gone.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const bool fine = client.send(request, response, error);
  std::lock_guard lock(exchange->mutex);
  exchange->error =
      fine ? httplib::Error::Success : (error == httplib::Error::Success ? httplib::Error::Unknown : error);
  exchange->certificate = client.get_openssl_verify_result();
  exchange->done = true;
  exchange->changed.notify_all();
}

class Caller {
 public:
  explicit Caller(const Call& call) : call_(call), deadline_(Clock::now() + call.time_limit) {
    who_ = call.url.origin();
    if (call.proxy) who_ += format(" through the proxy {}:{}", call.proxy->host, call.proxy->port);
  }

  Result<Response> run() {
    STITCH_CHECK(check_time());
    // An address of IPv6 is no URL to some versions of the library.
    auto client = call_.url.secure ? std::make_shared<httplib::Client>(call_.url.origin())
                                   : std::make_shared<httplib::Client>(call_.url.host, call_.url.port);
    set_up(*client);
    auto message = std::make_shared<httplib::Request>();
    message->method = call_.method;
    message->path = call_.url.path;
    for (const auto& [key, value] : call_.headers) message->headers.emplace(key, value);
    message->headers.emplace("User-Agent", "stitchcuda");
    message->body = call_.body;
    // Plain pointers would do while we wait, but we may leave first.
    message->response_handler = [exchange = exchange_](const httplib::Response& head) {
      return take_head(*exchange, head);
    };
    message->content_receiver = [exchange = exchange_](const char* data, size_t size, uint64_t, uint64_t) {
      return take_piece(*exchange, data, size);
    };
    std::thread talking([exchange = exchange_, client, message] { talk(exchange, *client, *message); });
    auto result = listen();
    if (hang_up())
      talking.join();
    else
      talking.detach();
    return result;
  }

 private:
  Result<void> check_time() const {
    if (call_.should_stop && call_.should_stop())
      return work_error(error_code::stopped, "stopped on request");
    if (Clock::now() >= deadline_)
      return work_error("http_deadline", format("{} did not answer in time", who_));
    return {};
  }

  void set_up(httplib::Client& client) {
    client.enable_server_certificate_verification(true);
    client.set_follow_location(false);
    client.set_keep_alive(false);
    client.set_connection_timeout(call_.connect_limit);
    // Silence is watched for in listen(), where it can be told from a connection that was lost.
    client.set_read_timeout(never);
    client.set_write_timeout(call_.silence_limit);
    client.set_tcp_nodelay(true);
    client.set_socket_options([exchange = exchange_](socket_t socket) {
      std::lock_guard lock(exchange->mutex);
      exchange->socket = Descriptor(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
    });
    if (!call_.proxy) return;
    client.set_proxy(call_.proxy->host, call_.proxy->port);
    const std::string& user = call_.proxy->user;
    if (const size_t colon = user.find(':'); !user.empty())
      client.set_proxy_basic_auth(user.substr(0, colon),
                                  colon == std::string::npos ? "" : user.substr(colon + 1));
  }

  Result<Response> listen() {
    auto heard = Clock::now();
    std::string body;
    while (true) {
      std::deque<std::string> pieces;
      bool done = false;
      Response head;
      {
        std::unique_lock lock(exchange_->mutex);
        exchange_->changed.wait_for(lock, look_every,
                                    [&] { return exchange_->done || !exchange_->pieces.empty(); });
        pieces.swap(exchange_->pieces);
        exchange_->queued = 0;
        done = exchange_->done;
        head = exchange_->head;
        exchange_->changed.notify_all();
      }
      for (const std::string& piece : pieces) {
        if (call_.receive) {
          STITCH_CHECK(call_.receive(head, piece));
        } else if (body.size() + piece.size() > call_.most_body) {
          return work_error("http_too_large", format("the answer of {} is larger than {}", who_,
                                                     bytes_text(static_cast<double>(call_.most_body))));
        } else {
          body += piece;
        }
      }
      if (done) {
        STITCH_TRY(Response response, finished());
        response.body = std::move(body);
        return response;
      }
      if (!pieces.empty()) heard = Clock::now();
      STITCH_CHECK(check_time());
      if (Clock::now() - heard > call_.silence_limit)
        return work_error("http_timeout",
                          format("{} sent nothing for {}", call_.url.origin(), text_of(call_.silence_limit)));
    }
  }

  static std::string text_of(std::chrono::duration<double> time) { return seconds_text(time.count()); }

  Result<Response> finished() {
    std::lock_guard lock(exchange_->mutex);
    switch (exchange_->error) {
      case httplib::Error::Success: return exchange_->head;
      case httplib::Error::Connection:
        return work_error("http_unreachable", format("no connection to {}", who_),
                          "is the server running there?");
      case httplib::Error::ConnectionTimeout:
        return work_error("http_unreachable",
                          format("no connection to {} within {}", who_, text_of(call_.connect_limit)),
                          "is the server running there?");
      case httplib::Error::SSLConnection:
        if (call_.proxy) return work_error("http_unreachable", format("no TLS to {}", who_));
        return work_error("http_certificate", format("{} does not speak a supported version of TLS", who_),
                          "use http:// if it is a local server without TLS");
      case httplib::Error::SSLLoadingCerts:
        return work_error("http_certificate", "this machine's root certificates can't be read",
                          "install ca-certificates, or set SSL_CERT_FILE");
      case httplib::Error::SSLServerVerification: {
        const char* why = exchange_->certificate == 0 ? "it is for another host"
                                                      : X509_verify_cert_error_string(exchange_->certificate);
        return work_error("http_certificate", format("the certificate of {} can't be trusted: {}", who_, why),
                          "for a certificate authority of your own: SSL_CERT_FILE=/path/to/ca.pem");
      }
      default: break;
    }
    return work_error("http_dropped", exchange_->answered
                                          ? format("{} cut off its answer", who_)
                                          : format("{} closed the connection without an answer", who_));
  }

  // Whether the talking thread is at its end.
  bool hang_up() {
    std::unique_lock lock(exchange_->mutex);
    exchange_->cancelled = true;
    exchange_->changed.notify_all();
    if (!exchange_->done && exchange_->socket.get() >= 0) ::shutdown(exchange_->socket.get(), SHUT_RDWR);
    return exchange_->changed.wait_for(lock, patience, [&] { return exchange_->done; });
  }

  const Call& call_;
  const Clock::time_point deadline_;
  std::string who_;
  const std::shared_ptr<Exchange> exchange_ = std::make_shared<Exchange>();
};

}  // namespace

bool has_client() { return true; }
Result<Response> call(const Call& call) { return Caller(call).run(); }

}  // namespace stitch::http

#else

namespace stitch::http {

bool has_client() { return false; }
Result<Response> call(const Call&) {
  return work_error("http_no_http", "built without HTTP support (cpp-httplib was not found)",
                    "install cpp-httplib (Debian: libcpp-httplib-dev) and build again");
}

}  // namespace stitch::http

#endif
