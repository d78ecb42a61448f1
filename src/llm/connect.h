// A Chat with everything around it: budget, retries, transcript.
#pragma once

#include "llm/account.h"
#include "llm/chat.h"
#include "llm/http_chat.h"
#include "llm/profiles/profile.h"
#include "llm/transcript.h"

namespace stitch::llm {

// Tries again what may work the second time: 429, 5xx, timeouts, dropped streams. Exponential backoff with
// jitter, the server's Retry-After before our own guess, never past the deadline.

struct RetryPolicy {
  int tries = 5;
  double first_wait = 1.0;        // seconds, doubled each time
  double longest_wait = 30.0;     // of our own
  double longest_demanded = 120;  // a server that asks for more is not waited for
};

// Time, so that tests take none.
struct Pause {
  std::function<Clock::time_point()> now;
  // Sleeps, looking at should_stop several times a second; false if it said so.
  std::function<bool(double seconds, const std::function<bool()>& should_stop)> sleep;
  std::function<double()> jitter;  // 0 to 1
};
Pause real_pause();

bool worth_a_retry(const Error& error);

class RetryingChat final : public Chat {
 public:
  RetryingChat(std::unique_ptr<Chat> inner, RetryPolicy policy, Pause pause = real_pause());
  Result<Reply> ask(const Request& request, const AskOptions& options) override;

 private:
  const std::unique_ptr<Chat> inner_;
  const RetryPolicy policy_;
  const Pause pause_;
};

struct Connection {
  Profile profile;  // from choose_profile()
  Agent agent = Agent::person;
  Account* account = nullptr;  // outlives the Chat; null: nothing is counted
  TranscriptSink transcript;   // empty: nothing is kept
  RetryPolicy retry = {};
  Pause pause = real_pause();
  std::shared_ptr<Transport> transport = {};  // null: http_transport()
  Environment environment = process_environment();
  size_t max_answer_bytes = 16 << 20;
};

// Fails at once where the key is missing; whether the server is there shows with the first question.
Result<std::unique_ptr<Chat>> connect(Connection connection);

}  // namespace stitch::llm
