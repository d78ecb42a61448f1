// http://user:password@host:port/path
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::http {

struct Url {
  std::string host, path = "/";  // host: without brackets; path: with its query
  int port = 80;
  bool secure = false;
  std::string user = {};       // with its password
  std::string origin() const;  // https://host:port
};
std::optional<Url> parse_url(std::string_view text);
// Of our own services and Ray's: http://HOST[:PORT][/PATH]. TLS is for a proxy in front of them.
Result<Url> parse_address(std::string_view text);

// localhost, 127.0.0.0/8 or ::1. A name such as 127.0.0.1.example.com is none of them.
bool is_loopback(std::string_view host);

}  // namespace stitch::http
