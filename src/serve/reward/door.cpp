#include "serve/reward/door.h"

#include "base/text.h"
#include "http/url.h"
#include "serve/fleet/base64.h"

namespace stitch::serve {

namespace {

// Takes as long for a wrong token as for one that is nearly right.
bool equal(std::string_view given, std::string_view wanted) {
  unsigned difference = given.size() == wanted.size() ? 0 : 1;
  for (size_t i = 0; i < wanted.size(); ++i)
    difference |=
        static_cast<unsigned char>(wanted[i]) ^ static_cast<unsigned char>(i < given.size() ? given[i] : 0);
  return difference == 0;
}

bool has_token(const http::Request& head, const std::string& token) {
  const std::string given(head.header("authorization"));
  if (given.starts_with("Bearer ") && equal(trim(given.substr(7)), token)) return true;
  if (given.starts_with("Basic ")) {
    const std::string pair = from_base64(trim(given.substr(6)));
    const size_t colon = pair.find(':');
    if (colon != std::string::npos && equal(std::string_view(pair).substr(colon + 1), token)) return true;
  }
  return equal(head.parameter("token"), token);
}

std::string host_of(std::string_view text) {
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.starts_with("https://")) text.remove_prefix(8);
  if (text.starts_with('[')) return std::string(text.substr(1, text.find(']') - 1));
  return std::string(text.substr(0, text.find(':')));
}

http::Response refused(int status, const char* code, const char* message) {
  return {.status = status,
          .body = format("{{\"error\": {{\"code\": \"{}\", \"message\": \"{}\"}}}}\n", code, message)};
}

}  // namespace

http::Doorkeeper door(std::string token) {
  return [token = std::move(token)](const http::Request& head) -> std::optional<http::Response> {
    // A foreign web page in a browser on this machine.
    if (const std::string_view origin = head.header("origin");
        !origin.empty() && host_of(origin) != host_of(head.header("host")))
      return refused(403, "origin", "cross-origin requests are not allowed");
    if (head.path == "/healthz") return std::nullopt;
    if (token.empty()) {
      // A name that was made to point here.
      const std::string host = host_of(head.header("host"));
      if (host.empty() || http::is_loopback(host)) return std::nullopt;
      return refused(403, "host", "without a token only local host names are allowed");
    }
    if (has_token(head, token)) return std::nullopt;
    http::Response out = refused(401, "token", "this service requires its token");
    out.headers.emplace_back("WWW-Authenticate", "Basic realm=\"stitchcuda\"");
    return out;
  };
}

}  // namespace stitch::serve
