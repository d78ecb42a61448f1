// The APIs: a Request as the body of a POST, and a Reply from what comes back. No network here.
#pragma once

#include "http/message.h"
#include "llm/chat.h"
#include "llm/profiles/profile.h"
#include "llm/wire/sse.h"

namespace stitch::llm {

// Reads one answer.
class ReplyReader {
 public:
  virtual ~ReplyReader() = default;
  // An event of a stream.
  virtual Result<void> event(const SseEvent& event) = 0;
  // The answer of a server that doesn't stream.
  virtual Result<void> whole(const Json& body) = 0;
  // "llm_dropped" if the stream ended before the answer did.
  virtual Result<Reply> end() = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string path() const = 0;  // behind the profile's url
  virtual http::Headers headers(const std::string& key) const = 0;
  virtual Json body(const Profile& profile, const Request& request) const = 0;
  // `options` must outlive the reader; `limit`: bytes of the answer.
  virtual std::unique_ptr<ReplyReader> reader(const AskOptions& options, size_t limit) const = 0;
};

const Wire& openai_wire();
const Wire& responses_wire();
const Wire& anthropic_wire();
const Wire& wire_of(Api api);

// What they have in common.
int64_t allowed_tokens(const Profile& profile, const Request& request);
// Anthropic's API and OpenAI's newer models refuse a temperature: there only profiles that have one send any.
std::optional<double> allowed_temperature(const Profile& profile, const Request& request);
void add_extra(Json& body, const Profile& profile);
// The count under `key`, 0 for anything that isn't one.
int64_t count_at(const Json& object, const char* key);
// The object under `key`, empty for anything that isn't one.
const Json& object_at(const Json& object, const char* key);
// Data of an event that must be a JSON object. `begun`: an answer that has begun to make sense was broken on
// the way.
Result<Json> event_object(const SseEvent& event, bool begun);
// An error that came inside an answer, or as the body of an HTTP error.
std::string error_message(const Json& body);
Error dropped(std::string_view why);

}  // namespace stitch::llm
