#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "llm/transport.h"
#include "llm/url.h"

namespace stitch::llm {

namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_local(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" || host.starts_with("127.");
}

// One word of NO_PROXY: *, a host, the end of one, any of them with a port.
bool excepts(std::string word, const Url& url) {
  if (word == "*") return true;
  const std::string port = format(":{}", url.port);
  if (word.ends_with(port)) word.erase(word.size() - port.size());
  if (word.starts_with("*.")) word.erase(0, 1);
  const std::string host = lower(url.host);
  if (word.starts_with('.')) return host.ends_with(word) || host == word.substr(1);
  return !word.empty() && (host == word || host.ends_with("." + word));
}

}  // namespace

std::optional<Url> parse_url(std::string_view text) {
  Url out;
  if (text.starts_with("https://"))
    out.secure = true;
  else if (!text.starts_with("http://"))
    return std::nullopt;
  text.remove_prefix(out.secure ? 8 : 7);
  const size_t slash = std::min(text.find('/'), text.size());
  std::string_view place = text.substr(0, slash);
  out.path = slash < text.size() ? std::string(text.substr(slash)) : "/";
  if (const size_t at = place.rfind('@'); at != std::string_view::npos) {
    out.user = place.substr(0, at);
    place.remove_prefix(at + 1);
  }
  std::string_view port;
  if (place.starts_with('[')) {
    const size_t close = place.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = place.substr(1, close - 1);
    port = place.substr(close + 1);
  } else {
    const size_t colon = std::min(place.find(':'), place.size());
    out.host = place.substr(0, colon);
    port = place.substr(colon);
  }
  out.port = out.secure ? 443 : 80;
  if (!port.empty()) {
    auto number = port.starts_with(':') ? parse_integer(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) return std::nullopt;
    out.port = static_cast<int>(*number);
  }
  if (out.host.empty()) return std::nullopt;
  return out;
}

std::string Url::origin() const {
  const bool six = host.find(':') != std::string::npos;
  return format("{}://{}{}{}:{}", secure ? "https" : "http", six ? "[" : "", host, six ? "]" : "", port);
}

std::optional<std::string> proxy_for(std::string_view url, const Environment& environment) {
  const auto parsed = parse_url(url);
  if (!parsed || is_local(lower(parsed->host))) return std::nullopt;
  auto first_of = [&](std::initializer_list<const char*> variables) {
    for (const char* variable : variables)
      if (auto value = environment(variable); value && !trim(*value).empty()) return trim(*value);
    return std::string();
  };
  for (const std::string& word : split(lower(first_of({"no_proxy", "NO_PROXY"})), ','))
    if (excepts(trim(word), *parsed)) return std::nullopt;
  std::string proxy = parsed->secure ? first_of({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                     : first_of({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
  if (proxy.empty()) return std::nullopt;
  if (proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return proxy;
}

std::string HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return "";
}

}  // namespace stitch::llm
