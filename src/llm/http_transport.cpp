#include "llm/transport.h"

namespace stitch::llm {

namespace {

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

  Result<http::Response> post(http::Call call) override {
    if (const auto proxy = proxy_for(call.url, environment_)) {
      call.proxy = http::parse_url(*proxy);
      if (!call.proxy || call.proxy->secure)
        return user_error("llm_unreachable", "the proxy in the environment is not an http:// address",
                          "HTTPS_PROXY=http://HOST:PORT");
    }
    auto answer = http::call(call);
    if (!answer) return of_model(std::move(answer).error(), call);
    return answer;
  }

 private:
  const Environment environment_;
};

}  // namespace

std::shared_ptr<Transport> http_transport(Environment environment) {
  return std::make_shared<HttpTransport>(std::move(environment));
}

}  // namespace stitch::llm
