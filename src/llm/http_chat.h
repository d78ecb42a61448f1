// One question to a server, one try.
#pragma once

#include <atomic>

#include "llm/chat.h"
#include "llm/profiles/profile.h"
#include "llm/transport.h"

namespace stitch::llm {

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
