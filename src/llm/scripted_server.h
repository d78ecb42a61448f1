// A server for tests: on a loopback port it says what it is told to, as an OpenAI-compatible server on
// /v1/chat/completions and /v1/responses and as Anthropic's on /v1/messages, and keeps what it was asked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "llm/chat.h"
#include "llm/profiles/profile.h"

namespace stitch::llm {

// Replies as the APIs send them: what a scripted server says, without a server.

// One JSON document.
std::string document_of(Api api, const Reply& reply);
std::string openai_document(const Reply& reply);
std::string responses_document(const Reply& reply);
std::string anthropic_document(const Reply& reply);
// Events, the text in about `pieces` of them.
std::vector<std::string> events_of(Api api, const Reply& reply, int pieces);
std::vector<std::string> openai_events(const Reply& reply, int pieces);
std::vector<std::string> responses_events(const Reply& reply, int pieces);
std::vector<std::string> anthropic_events(const Reply& reply, int pieces);

struct Asked {
  Api api;
  std::shared_ptr<const Json> body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  bool stream = false;
};

// What goes over the wire, after all.
struct Scripted {
  int status = 200;
  std::string content_type;                                  // empty: the API's own for `stream`
  std::vector<std::pair<std::string, std::string>> headers;  // beside it
  std::vector<std::string> chunks;                           // of the body, sent one by one
  double seconds_between = 0;
  bool hang = false;  // after the chunks, until the client or the server goes
  bool drop = false;  // after the chunks the connection is cut instead of ended
};
using Answer = std::function<Scripted(const Asked&)>;

// Answers, in the API and the mode (stream or not) that the question came in.
Answer says(std::string text, int chunks = 3);                    // a good answer
Answer says_reply(Reply reply, int chunks = 3);                   // with reasoning, tool calls, usage
Answer calls_tool(std::string name, std::string arguments_json);  // a tool call
Answer fails_with(int status, std::string message, std::string retry_after = {});
Answer drops_after(std::string text);  // in the middle of the stream
Answer hangs_after(std::string text = {});
Answer sends_bytes(std::string bytes,
                   std::string content_type = "text/event-stream");  // garbage, not JSON, nothing
Answer slowly(Answer answer, double seconds_between);

class ScriptedServer {
 public:
  static Result<std::unique_ptr<ScriptedServer>> start(std::vector<Answer> answers = {});
  virtual ~ScriptedServer() = default;
  // Taken in order; where none is left, `otherwise` (if set) or a 500 that says so.
  virtual void push(Answer answer) = 0;
  virtual void otherwise(Answer answer) = 0;
  virtual std::vector<Asked> asked() const = 0;
  virtual std::string url() const = 0;  // http://127.0.0.1:PORT/v1
  // A profile for it that needs no key.
  Profile profile(Api api = Api::openai) const;
};

}  // namespace stitch::llm
