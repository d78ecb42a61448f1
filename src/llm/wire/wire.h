// The APIs: a Request as the body of a POST, and a Reply from what comes back. No network here.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "llm/chat.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

// Server-sent events out of bytes that come in any pieces.
struct SseEvent {
  std::string name;  // "message" unless an event: line said otherwise
  std::string data;  // the data: lines, joined by newlines
};

// Lines end with LF, CRLF or CR; comments, id: and retry: lines are read over; a byte order mark is skipped.
// An event that no empty line ends is dropped, as the standard says: the stream was cut in it.
class SseParser {
 public:
  using OnEvent = std::function<Result<void>(const SseEvent&)>;
  // `limit`: bytes of one event, against servers that never end one.
  explicit SseParser(OnEvent on_event, size_t limit = 16 << 20)
      : on_event_(std::move(on_event)), limit_(limit) {}
  Result<void> feed(std::string_view bytes);

 private:
  Result<void> line(std::string_view text);
  OnEvent on_event_;
  const size_t limit_;
  std::string pending_;  // the line so far
  bool after_return_ = false, at_start_ = true, has_data_ = false;
  SseEvent event_{.name = "message", .data = {}};
};

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

// Requests, replies and usage as JSON, for transcripts and stores.
Json to_json(const Message& message);
Json to_json(const Request& request);
Json to_json(const Usage& usage);
Json to_json(const Reply& reply);
Result<Reply> reply_from_json(const Json& document);
Usage usage_from_json(const Json& document);

// A reply while it comes in: pieces of text, of reasoning, of tool calls.

// Splits "<think>…</think>answer" as it streams. A server that knows its model's format does this itself;
// others send it as text. Only at the start of the answer: further on, the tag is what the answer is about.
class ThinkSplitter {
 public:
  struct Pieces {
    std::string text, reasoning;
  };
  Pieces add(std::string_view piece);
  Pieces end();  // what was held back because a tag might have begun

 private:
  enum class State { start, thinking, after, answer };
  State state_ = State::start;
  std::string held_;
};

class ReplyDraft {
 public:
  // `limit`: bytes of text, reasoning and arguments together.
  ReplyDraft(const AskOptions& options, size_t limit) : options_(options), limit_(limit) {}
  Result<void> add_text(std::string_view piece);
  Result<void> add_reasoning(std::string_view piece);
  // Calls are told apart by the server's index. Ids and names come once, arguments in pieces.
  Result<void> add_call(int index, std::string_view id, std::string_view name, std::string_view arguments);
  size_t calls() const { return calls_.size(); }
  size_t bytes() const { return bytes_; }
  Reply& reply() { return reply_; }
  Reply end();

 private:
  Result<void> count(size_t bytes);
  void take(ThinkSplitter::Pieces pieces);
  const AskOptions& options_;
  const size_t limit_;
  size_t bytes_ = 0;
  ThinkSplitter splitter_;
  std::map<int, ToolCall> calls_;
  Reply reply_;
};

}  // namespace stitch::llm
