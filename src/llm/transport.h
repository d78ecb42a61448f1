// POST with a streamed answer, as http/client.h does it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

class Transport {
 public:
  virtual ~Transport() = default;
  // Any status is a success here; errors are llm_unreachable, llm_certificate, llm_timeout, llm_deadline,
  // llm_dropped, stopped. Returns within about a second after should_stop says so.
  virtual Result<http::Response> post(http::Call call) = 0;
};

// With HTTPS_PROXY, HTTP_PROXY and NO_PROXY obeyed.
std::shared_ptr<Transport> http_transport(Environment environment = process_environment());

// Where a proxy is wanted for a URL; nothing for a direct connection.
std::optional<std::string> proxy_for(const http::Url& url, const Environment& environment);

}  // namespace stitch::llm
