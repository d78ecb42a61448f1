// One client's session: what it said hello with, what runs for it, what is kept for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "serve/json_rpc.h"
#include "serve/mcp.h"
#include "serve/roots.h"

namespace stitch::serve {

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
