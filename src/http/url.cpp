#include "http/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"

namespace stitch::http {

std::string Url::origin() const {
  const bool v6 = host.find(':') != std::string::npos;
  return format("{}://{}{}{}:{}", secure ? "https" : "http", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::optional<Url> parse_url(std::string_view text) {
  Url out;
  if (text.starts_with("https://"))
    out.secure = true;
  else if (!text.starts_with("http://"))
    return std::nullopt;
  text.remove_prefix(out.secure ? 8 : 7);
  const size_t slash = std::min(text.find('/'), text.size());
  std::string_view place = text.substr(0, slash);
  if (slash < text.size()) out.path = text.substr(slash);
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
    const auto number = port.starts_with(':') ? parse_integer(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) return std::nullopt;
    out.port = static_cast<int>(*number);
  }
  if (out.host.empty()) return std::nullopt;
  return out;
}

Result<Url> parse_address(std::string_view text) {
  auto url = parse_url(text);
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 127; });
  if (!url || url->secure || !plain || text.find('@') != std::string_view::npos)
    return user_error("url", format("'{}' is not an http:// address", text), "http://HOST:PORT");
  return *std::move(url);
}

bool is_loopback(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return text == "localhost";
}

}  // namespace stitch::http
