#include "llm/transport.h"

#include "base/format.h"
#include "base/text.h"
#include "http/message.h"

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

namespace {

// One word of NO_PROXY: *, a host, the end of one, any of them with a port.
bool excepts(std::string word, const http::Url& url) {
  if (word == "*") return true;
  const std::string port = format(":{}", url.port);
  if (word.ends_with(port)) word.erase(word.size() - port.size());
  if (word.starts_with("*.")) word.erase(0, 1);
  const std::string host = lower_case(url.host);
  if (word.starts_with('.')) return host.ends_with(word) || host == word.substr(1);
  return !word.empty() && (host == word || host.ends_with("." + word));
}

}  // namespace

std::optional<std::string> proxy_for(const http::Url& url, const Environment& environment) {
  if (const std::string host = lower_case(url.host); http::is_loopback(host) || host.ends_with(".localhost"))
    return std::nullopt;
  auto first_of = [&](std::initializer_list<const char*> variables) {
    for (const char* variable : variables)
      if (auto value = environment(variable); value && !trim(*value).empty()) return trim(*value);
    return std::string();
  };
  for (const std::string& word : split(lower_case(first_of({"no_proxy", "NO_PROXY"})), ','))
    if (excepts(trim(word), url)) return std::nullopt;
  std::string proxy = url.secure ? first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                 : first_of({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  if (proxy.empty()) return std::nullopt;
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return proxy;
}

}  // namespace stitch::llm
