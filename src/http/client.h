// A client for our own services and for Ray's: plain HTTP, one request a connection, everything bounded.
#pragma once

#include <chrono>

#include "http/message.h"

namespace stitch::http {

struct Url {
  std::string host, path = "/";  // path: with its query
  int port = 80;
  std::string origin() const;  // http://HOST:PORT
};
// http://HOST[:PORT][/PATH]. TLS is for a proxy in front of the service.
Result<Url> parse_address(std::string_view text);

struct Call {
  std::string method = "GET";
  Url url;
  Headers headers = {};
  std::string body = {};
  std::chrono::milliseconds time_limit{30'000};  // for all of it
  Limits limits = {.head = size_t{64} << 10, .body = size_t{64} << 20};
};

// Any status is a success here. Errors: http_unreachable, http_timeout, http_answer.
Result<Response> call(const Call& call);

}  // namespace stitch::http
