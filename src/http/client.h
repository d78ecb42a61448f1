// The one HTTP client, on cpp-httplib with OpenSSL: for our own services and Ray's, and for language models,
// whose answers stream. Certificates are verified; redirects are not followed (they would take a key along).
#pragma once

#include <chrono>
#include <functional>

#include "http/message.h"

namespace stitch::http {

// A piece of the body, in the thread that calls; an error ends the call and is its result.
using Receive = std::function<Result<void>(const Response& head, std::string_view bytes)>;

struct Call {
  std::string method = "GET";
  Url url;
  Headers headers = {};
  std::string body = {};
  std::chrono::milliseconds time_limit{30'000};  // for all of it
  std::chrono::milliseconds connect_limit{15'000};
  std::chrono::milliseconds silence_limit{600'000};  // without a byte
  std::optional<Url> proxy = {};
  std::function<bool()> should_stop = {};  // then the call returns within about a second
  Receive receive = {};                    // empty: the response has the body
  size_t most_body = size_t{64} << 20;     // of such a response
};

// Any status is a success here. Errors: http_unreachable, http_certificate, http_timeout (silence),
// http_deadline, http_dropped, http_too_large, stopped; http_no_http in a build without cpp-httplib.
Result<Response> call(const Call& call);
bool has_client();

}  // namespace stitch::http
