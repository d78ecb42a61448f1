// One client's session: what it said hello with, what runs for it, what is kept for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/json.h"
#include "serve/mcp.h"
#include "serve/roots.h"

namespace stitch::serve {

// JSON-RPC 2.0, as much of it as MCP uses.

namespace rpc {
inline constexpr int parse_error = -32700, invalid_request = -32600, no_such_method = -32601,
                     invalid_params = -32602, internal_error = -32603, no_such_resource = -32002;
}

Json result_message(const Json& id, Json result);
Json error_message(const Json& id, int code, std::string_view message);
Json notification(std::string_view method, Json params);

// Lines over descriptors: in, of bounded length; out, whole, from any thread.
class LinesIn {
 public:
  LinesIn(int descriptor, size_t most_bytes) : descriptor_(descriptor), most_bytes_(most_bytes) {}
  enum class Got { line, too_long, nothing_yet, end };
  // Waits for at most `wait_ms`. too_long: a line was thrown away.
  Got next(std::string& line, int wait_ms);

 private:
  bool take(std::string& line);
  int descriptor_;
  size_t most_bytes_;
  std::string pending_;
  size_t looked_ = 0;  // of pending_, without a newline
  bool dropping_ = false, ended_ = false;
};

class LinesOut {
 public:
  explicit LinesOut(int descriptor) : descriptor_(descriptor) {}
  void send(std::string_view line);  // ignored after the client has disconnected

 private:
  int descriptor_;
  std::mutex lock_;
};

// Where the answer to a request goes; null: there will be none.
using Reply = std::function<void(std::shared_ptr<const Json> message)>;

class McpSession {
 public:
  McpSession(const McpOptions& options, int out);
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;
  ~McpSession();  // gives up what runs, and waits for it

  void take_line(const std::string& line);
  void take_long_line();
  // Once in a while: clients wait longer for what shows signs of life.
  void heartbeat();

 private:
  class Running;
  using Clock = std::chrono::steady_clock;

  // mcp_session.cpp: messages
  void take_message(const Json& message, const Reply& reply);
  void take_batch(const Json& batch);
  void take_notification(const std::string& method, const Json& params);
  void log(std::string_view level, std::string_view text);
  void send(const Json& message) { out_.send(line_text(message)); }

  // mcp_methods.cpp: requests that are answered at once
  static bool is_known(std::string_view method);
  Result<Json> answer(const std::string& method, const Json& params, int& code);
  Json initialize(const Json& params);
  Json list_tools() const;
  Json list_resources() const;
  Json list_resource_templates() const;
  Result<Json> read_resource(const Json& params, int& code) const;
  Result<Resource> find_resource(const std::string& uri) const;
  Json list_prompts() const;
  Result<Json> get_prompt(const Json& params) const;

  // mcp_calls.cpp: tools/call
  void call_tool(const Json& id, const Json& params, const Reply& reply);
  void cancel(const Json& id, const std::string& reason);
  void run(Running& running);
  Json result_of(const Running& running, Result<Answer> answer);
  void work();  // of the second thread

  const McpOptions& options_;
  LinesOut out_;
  Resources resources_;
  bool greeted_ = false;
  std::string protocol_;  // as agreed
  std::atomic<int> level_;

  std::mutex lock_;  // of what follows
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Running>> waiting_;
  std::map<std::string, std::shared_ptr<Running>> calls_;  // waiting and running ones, by their id's text
  std::shared_ptr<Running> current_;
  bool over_ = false;
  std::thread worker_;
};

}  // namespace stitch::serve
