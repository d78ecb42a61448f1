#include "llm/connect.h"

#include "llm/http_chat.h"

namespace stitch::llm {

// From the inside out: one try; each try held against the budget; tries again; what came of it all written
// down.
Result<std::unique_ptr<Chat>> connect(Connection connection) {
  const Profile& profile = connection.profile;
  STITCH_TRY(std::optional<std::string> key, key_of(profile, connection.environment));
  auto transport = connection.transport ? connection.transport : http_transport(connection.environment);
  std::unique_ptr<Chat> chat = std::make_unique<HttpChat>(profile, key.value_or(""), std::move(transport),
                                                          connection.max_answer_bytes);
  if (connection.account)
    chat = std::make_unique<AccountedChat>(std::move(chat), *connection.account, connection.agent,
                                           most_answer_tokens(profile), price_of(profile));
  chat = std::make_unique<RetryingChat>(std::move(chat), connection.retry, connection.pause);
  if (connection.transcript)
    chat = std::make_unique<RecordingChat>(std::move(chat), connection.agent, profile.name, profile.model,
                                           connection.transcript);
  return chat;
}

}  // namespace stitch::llm
