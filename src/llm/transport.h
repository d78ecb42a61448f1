// POST with a streamed answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "llm/profile.h"

namespace stitch::llm {

using Headers = http::Headers;
using HttpHead = http::Response;  // without its body
using http::Receive;

struct HttpRequest {
  std::string url;
  Headers headers;
  std::string body;
};

struct HttpOptions {
  double connect_timeout = 15;  // seconds
  double read_timeout = 600;    // seconds without a byte
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<bool()> should_stop;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Any status is a success here; errors are llm_unreachable, llm_certificate, llm_timeout, llm_deadline,
  // llm_dropped, stopped. Returns within about a second after should_stop says so.
  virtual Result<HttpHead> post(const HttpRequest& request, const HttpOptions& options,
                                const Receive& receive) = 0;
};

// By http/client.h, with HTTPS_PROXY, HTTP_PROXY and NO_PROXY obeyed.
std::shared_ptr<Transport> http_transport(Environment environment = process_environment());
bool has_http();

// Where a proxy is wanted for a URL; nothing for a direct connection.
std::optional<std::string> proxy_for(std::string_view url, const Environment& environment);

}  // namespace stitch::llm
