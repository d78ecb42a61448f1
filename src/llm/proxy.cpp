#include "base/format.h"
#include "base/text.h"
#include "http/url.h"
#include "llm/transport.h"

namespace stitch::llm {

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
