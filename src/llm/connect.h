// A Chat with everything around it: budget, retries, transcript.
#pragma once

#include "llm/account.h"
#include "llm/chat.h"
#include "llm/profiles/profile.h"
#include "llm/retry.h"
#include "llm/transcript.h"
#include "llm/transport.h"

namespace stitch::llm {

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
