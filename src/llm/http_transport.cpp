#include "llm/transport.h"

#ifdef STITCH_HAVE_HTTPLIB

#include <httplib.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <mutex>

#include <condition_variable>
#include <deque>
#include <thread>

#include "base/descriptor.h"
#include "base/text.h"
#include "llm/chat.h"
#include "llm/url.h"

namespace stitch::llm {

namespace {

using namespace std::chrono_literals;
constexpr auto look_every = 50ms;
constexpr auto patience = 300ms;         // with a request that was told to stop
constexpr size_t most_queued = 4 << 20;  // bytes that wait for the reader
constexpr double never = 7 * 24 * 3600;  // seconds

// What the thread that talks to the server and the thread that asked share. The first one may outlive the
// second: a name server can't be told to stop.
struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  HttpHead head;
  std::deque<std::string> pieces;
  size_t queued = 0;
  bool cancelled = false, done = false, answered = false;
  httplib::Error error = httplib::Error::Success;
  long certificate = 0;  // OpenSSL's verdict
  Descriptor socket;     // a duplicate: shutting it down ends the connection
  std::string via;       // " through the proxy HOST:PORT"
};

bool take_head(Exchange& exchange, const httplib::Response& response) {
  std::lock_guard lock(exchange.mutex);
  exchange.answered = true;
  exchange.head.status = response.status;
  for (const auto& [key, value] : response.headers) {
    std::string lower = key;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    exchange.head.headers.emplace_back(std::move(lower), value);
  }
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

class HttpTransport final : public Transport {
 public:
  explicit HttpTransport(Environment environment) : environment_(std::move(environment)) {}

  Result<HttpHead> post(const HttpRequest& request, const HttpOptions& options,
                        const Receive& receive) override {
    const auto url = parse_url(request.url);
    if (!url) return user_error("llm_request", format("'{}' is not an http address", request.url));
    if (auto over = ended(options)) return *over;
    auto exchange = std::make_shared<Exchange>();
    auto client = std::make_shared<httplib::Client>(url->origin());
    STITCH_CHECK(set_up(*client, request.url, options, exchange));
    auto message = std::make_shared<httplib::Request>();
    message->method = "POST";
    message->path = url->path;
    for (const auto& [key, value] : request.headers) message->headers.emplace(key, value);
    message->headers.emplace("User-Agent", "stitchcuda");
    message->body = request.body;
    // Plain pointers would do while we wait, but we may leave first.
    message->response_handler = [exchange](const httplib::Response& head) {
      return take_head(*exchange, head);
    };
    message->content_receiver = [exchange](const char* data, size_t size, uint64_t, uint64_t) {
      return take_piece(*exchange, data, size);
    };
    std::thread talking([exchange, client, message] { talk(exchange, *client, *message); });
    auto result = listen(*exchange, *url, options, receive);
    if (hang_up(*exchange))
      talking.join();
    else
      talking.detach();
    return result;
  }

 private:
  static std::optional<Error> ended(const HttpOptions& options) {
    if (options.should_stop && options.should_stop()) return work_error("stopped", "stopped on request");
    if (options.deadline && Clock::now() >= *options.deadline)
      return work_error("llm_deadline", "no time left for the model's answer");
    return std::nullopt;
  }

  Result<void> set_up(httplib::Client& client, const std::string& url, const HttpOptions& options,
                      const std::shared_ptr<Exchange>& exchange) const {
    client.enable_server_certificate_verification(true);
    client.set_follow_location(false);
    client.set_keep_alive(false);
    client.set_connection_timeout(std::chrono::duration<double>(options.connect_timeout));
    // Silence is watched for in listen(), where it can be told from a connection that was lost.
    client.set_read_timeout(std::chrono::duration<double>(never));
    client.set_write_timeout(std::chrono::duration<double>(options.read_timeout));
    client.set_tcp_nodelay(true);
    client.set_socket_options([exchange](socket_t socket) {
      std::lock_guard lock(exchange->mutex);
      exchange->socket = Descriptor(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
    });
    const auto proxy = proxy_for(url, environment_);
    if (!proxy) return {};
    const auto place = parse_url(*proxy);
    if (!place || place->secure)
      return user_error("llm_unreachable", "the proxy in the environment is not an http:// address",
                        "HTTPS_PROXY=http://HOST:PORT");
    client.set_proxy(place->host, place->port);
    exchange->via = format(" through the proxy {}:{}", place->host, place->port);
    if (const size_t colon = place->user.find(':'); !place->user.empty())
      client.set_proxy_basic_auth(place->user.substr(0, colon),
                                  colon == std::string::npos ? "" : place->user.substr(colon + 1));
    return {};
  }

  static Result<HttpHead> listen(Exchange& exchange, const Url& url, const HttpOptions& options,
                                 const Receive& receive) {
    auto heard = Clock::now();
    while (true) {
      std::deque<std::string> pieces;
      bool done = false;
      HttpHead head;
      {
        std::unique_lock lock(exchange.mutex);
        exchange.changed.wait_for(lock, look_every,
                                  [&] { return exchange.done || !exchange.pieces.empty(); });
        pieces.swap(exchange.pieces);
        exchange.queued = 0;
        done = exchange.done;
        head = exchange.head;
        exchange.changed.notify_all();
      }
      for (const std::string& piece : pieces) STITCH_CHECK(receive(head, piece));
      if (done) return finished(exchange, url, options);
      if (!pieces.empty()) heard = Clock::now();
      if (auto over = ended(options)) return *over;
      const std::chrono::duration<double> silence = Clock::now() - heard;
      if (silence.count() > options.read_timeout)
        return work_error("llm_timeout",
                          format("{} sent nothing for {}", url.origin(), seconds_text(options.read_timeout)),
                          "raise the profile's timeout if it needs longer");
    }
  }

  static Result<HttpHead> finished(Exchange& exchange, const Url& url, const HttpOptions& options) {
    std::lock_guard lock(exchange.mutex);
    const std::string who = url.origin() + exchange.via;
    const std::string running =
        exchange.via.empty()
            ? format("is a server running at {}? Is a proxy needed (HTTPS_PROXY)?", url.origin())
            : "check HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY";
    switch (exchange.error) {
      case httplib::Error::Success: return exchange.head;
      case httplib::Error::Connection:
        return work_error("llm_unreachable", format("no connection to {}", who), running);
      case httplib::Error::ConnectionTimeout:
        return work_error("llm_unreachable",
                          format("no connection to {} within {}", who, seconds_text(options.connect_timeout)),
                          running);
      case httplib::Error::SSLConnection:
        if (!exchange.via.empty()) return work_error("llm_unreachable", format("no TLS to {}", who), running);
        return work_error("llm_certificate", format("{} does not speak a supported version of TLS", who),
                          "http:// in the profile's url if it is a local server without TLS");
      case httplib::Error::SSLLoadingCerts:
        return work_error("llm_certificate", "this machine's root certificates can't be read",
                          "install ca-certificates, or set SSL_CERT_FILE");
      case httplib::Error::SSLServerVerification: {
        const char* why = exchange.certificate == 0 ? "it is for another host"
                                                    : X509_verify_cert_error_string(exchange.certificate);
        return work_error("llm_certificate", format("the certificate of {} can't be trusted: {}", who, why),
                          "for a certificate authority of your own: SSL_CERT_FILE=/path/to/ca.pem");
      }
      default: break;
    }
    if (exchange.answered) return work_error("llm_dropped", format("{} cut off its answer", who));
    return work_error("llm_dropped", format("{} closed the connection without an answer", who));
  }

  // Whether the talking thread is at its end.
  static bool hang_up(Exchange& exchange) {
    std::unique_lock lock(exchange.mutex);
    exchange.cancelled = true;
    exchange.changed.notify_all();
    if (!exchange.done && exchange.socket.get() >= 0) ::shutdown(exchange.socket.get(), SHUT_RDWR);
    return exchange.changed.wait_for(lock, patience, [&] { return exchange.done; });
  }

  const Environment environment_;
};

}  // namespace

bool has_http() { return true; }
std::shared_ptr<Transport> http_transport(Environment environment) {
  return std::make_shared<HttpTransport>(std::move(environment));
}

}  // namespace stitch::llm

#else

namespace stitch::llm {

namespace {
class NoTransport final : public Transport {
 public:
  Result<HttpHead> post(const HttpRequest&, const HttpOptions&, const Receive&) override {
    return work_error("llm_no_http", "built without HTTP support (cpp-httplib was not found)",
                      "install cpp-httplib (Debian: libcpp-httplib-dev) and build again");
  }
};
}  // namespace

bool has_http() { return false; }
std::shared_ptr<Transport> http_transport(Environment) { return std::make_shared<NoTransport>(); }

}  // namespace stitch::llm

#endif
