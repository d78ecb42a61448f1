// One question to a server, one try.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "llm/chat.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

// POST with a streamed answer, as http/client.h does it.

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

class HttpChat final : public Chat {
 public:
  // `key` may be empty; `limit`: bytes of an answer.
  HttpChat(Profile profile, std::string key, std::shared_ptr<Transport> transport, size_t limit);
  Result<Reply> ask(const Request& request, const AskOptions& options) override;

 private:
  Result<Reply> ask_once(const Request& request, const AskOptions& options);
  const Profile profile_;
  const std::string key_;
  const std::shared_ptr<Transport> transport_;
  const size_t limit_;
  std::atomic<bool> refuses_schemas_ = false;
};

// What an HTTP status that isn't 200 means for the user. `body`: what came with it.
Error status_error(const Profile& profile, int status, std::string_view body);
// Seconds of a Retry-After header: a number, or nothing for its other form, a date.
std::optional<double> retry_after(const http::Response& head);

}  // namespace stitch::llm
