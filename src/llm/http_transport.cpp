#include <algorithm>

#include "http/client.h"
#include "llm/chat.h"
#include "llm/transport.h"

namespace stitch::llm {

namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
}

// The client's errors under this room's names, with what to do about a model's server.
Error of_model(Error error, const http::Call& call) {
  if (!error.code.starts_with("http_")) return error;
  error.code.replace(0, 4, "llm");
  if (error.code == "llm_timeout") error.fix = "raise the profile's timeout if it needs longer";
  if (error.code == "llm_unreachable")
    error.fix =
        call.proxy ? "check HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY"
                   : format("is a server running at {}? Is a proxy needed (HTTPS_PROXY)?", call.url.origin());
  return error;
}

class HttpTransport final : public Transport {
 public:
  explicit HttpTransport(Environment environment) : environment_(std::move(environment)) {}

  Result<HttpHead> post(const HttpRequest& request, const HttpOptions& options,
                        const Receive& receive) override {
    auto url = http::parse_url(request.url);
    if (!url) return user_error("llm_request", format("'{}' is not an http address", request.url));
    http::Call call{.method = "POST",
                    .url = *std::move(url),
                    .headers = request.headers,
                    .body = request.body,
                    .time_limit = std::chrono::hours(7 * 24),
                    .connect_limit = milliseconds_of(options.connect_timeout),
                    .silence_limit = milliseconds_of(options.read_timeout),
                    .should_stop = options.should_stop,
                    .receive = receive};
    if (options.deadline)
      call.time_limit =
          std::chrono::duration_cast<std::chrono::milliseconds>(*options.deadline - Clock::now());
    if (const auto proxy = proxy_for(request.url, environment_)) {
      call.proxy = http::parse_url(*proxy);
      if (!call.proxy || call.proxy->secure)
        return user_error("llm_unreachable", "the proxy in the environment is not an http:// address",
                          "HTTPS_PROXY=http://HOST:PORT");
    }
    auto answer = http::call(call);
    if (!answer) return of_model(std::move(answer).error(), call);
    return *std::move(answer);
  }

 private:
  const Environment environment_;
};

}  // namespace

bool has_http() { return http::has_client(); }
std::shared_ptr<Transport> http_transport(Environment environment) {
  return std::make_shared<HttpTransport>(std::move(environment));
}

}  // namespace stitch::llm
