// A conversation with a language model, whatever API its server speaks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace stitch::llm {

enum class Role { system, user, assistant, tool };

// A model's wish to have a tool called.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON as the model wrote it, so maybe none: read it with tool_arguments()
};

struct Message {
  Role role = Role::user;
  std::string text;
  std::vector<ToolCall> tool_calls;  // of an assistant
  std::string tool_call_id;          // of a tool: the call that this answers
  bool failed = false;               // of a tool: the call failed, and the text says why
  // Of an assistant: its reasoning in the server's own form, which Anthropic wants back beside tool calls.
  std::shared_ptr<const Json> reasoning_blocks;
  // A caching hint: what stands up to here will be sent again.
  bool cache = false;
};

struct ToolSpec {
  std::string name;
  std::string description;
  std::shared_ptr<const Json> schema;  // JSON Schema of its arguments: an object
};

struct Request {
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
  std::optional<int64_t> max_tokens;  // of the answer, reasoning included; else the profile's
  // Else the profile's, else the server's. Not sent where servers refuse one (allowed_temperature()).
  std::optional<double> temperature;
  // JSON Schema of the answer, sent to servers that can hold the model to it. Others ignore it: see
  // ask_json().
  std::shared_ptr<const Json> answer_schema;
};

struct Usage {
  int64_t input = 0;        // all of the prompt, cached or not
  int64_t output = 0;       // all that was generated, reasoning included
  int64_t cached = 0;       // of input: read from the server's cache
  int64_t cache_write = 0;  // of input: written to it (Anthropic charges more for those)
  int64_t reasoning = 0;    // of output, where the server says so
  bool estimated = false;   // the server didn't count: bytes / 3
  int64_t total() const { return input + output; }
};

enum class Finish { stop, length, tool_calls, refused, other };

struct Reply {
  std::string text;       // the answer alone
  std::string reasoning;  // what was thought aloud on the way; never code or an answer to us
  std::vector<ToolCall> tool_calls;
  Finish finish = Finish::other;
  Usage usage;
  std::string model;                             // as the server calls it
  std::shared_ptr<const Json> reasoning_blocks;  // see Message
  double seconds = 0;
  // The reply as the next message of the conversation.
  Message message() const;
};

using Clock = std::chrono::steady_clock;

// All are optional. The callbacks run in the thread that asks.
struct AskOptions {
  std::function<void(std::string_view)> on_text;       // pieces of the answer as they come
  std::function<void(std::string_view)> on_reasoning;  // and of the reasoning
  // A try has failed and the next one starts in so many seconds: pieces so far are void.
  std::function<void(const Error&, double seconds)> on_retry;
  std::function<void(double seconds)> on_retry_after;  // the server named a time to wait
  std::function<bool()> should_stop;                   // asked several times a second
  std::optional<Clock::time_point> deadline;
};

// The errors' codes, all of them work errors unless marked:
//   llm_key (user)     the profile's environment variable is not set
//   llm_auth (user)    the server rejects the API key
//   llm_model (user)   the server doesn't know the model, or the URL is no API of this kind
//   llm_request (user) the server rejects the request for another reason (4xx)
//   llm_unreachable    no connection        llm_certificate  TLS can't be verified
//   llm_timeout        no bytes for too long llm_deadline    the caller's deadline has passed
//   llm_rate_limit     429                  llm_server       5xx, overloaded
//   llm_dropped        the answer was cut off llm_format       the answer isn't in the API's format
//   llm_too_large      above the size limit llm_budget       tokens or dollars would be exceeded
//   llm_answer         the model's answer is not what was asked for, also after a repair
//   llm_replay         the recorded conversation goes another way
//   llm_no_http        built without HTTP   stopped          should_stop said so
class Chat {
 public:
  Chat() = default;
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;
  virtual ~Chat() = default;
  // Waits for the whole answer. Safe to call from several threads.
  virtual Result<Reply> ask(const Request& request, const AskOptions& options = {}) = 0;
};

// Who asks: what accounts and transcripts are kept by.
enum class Agent { planner, coder, verifier, judge, person };

std::string_view name(Role role);
std::string_view name(Finish finish);
std::string_view name(Agent agent);
std::optional<Finish> parse_finish(std::string_view text);
std::optional<Agent> parse_agent(std::string_view text);

Message system_message(std::string text);
Message user_message(std::string text);
Message tool_message(const ToolCall& call, std::string text, bool failed = false);

}  // namespace stitch::llm
