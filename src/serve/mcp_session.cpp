#include "serve/mcp_session.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

constexpr std::array<std::string_view, 8> levels = {"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};
int level_named(std::string_view name) {
  return static_cast<int>(std::ranges::find(levels, name) - levels.begin());
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

void McpSession::take_long_line() {
  send(error_message(
      nullptr, rpc::invalid_request,
      format("a message larger than {} was discarded", bytes_text(static_cast<double>(most_message_bytes)))));
}

void McpSession::take_line(const std::string& line) {
  if (trim(line).empty()) return;
  auto message = parse_json(line);
  if (!message) {
    send(error_message(nullptr, rpc::parse_error, "no JSON: " + printable(message.error().text())));
    return;
  }
  if (message->is_array()) {
    take_batch(*message);
    return;
  }
  take_message(*message, [this](std::shared_ptr<const Json> answer) {
    if (answer) send(*answer);
  });
}

// Version 2025-03-26 has batches. Their answers go out together, when the last one is there.
void McpSession::take_batch(const Json& batch) {
  struct Answers {
    std::mutex lock;
    Json messages = Json::array();
    size_t awaited;
  };
  auto answers = std::make_shared<Answers>();
  answers->awaited = batch.size();
  if (batch.empty()) send(error_message(nullptr, rpc::invalid_request, "an empty batch"));
  for (const Json& message : batch)
    take_message(message, [this, answers](std::shared_ptr<const Json> answer) {
      std::lock_guard hold(answers->lock);
      if (answer) answers->messages.push_back(*answer);
      if (--answers->awaited == 0 && !answers->messages.empty()) send(answers->messages);
    });
}

void McpSession::take_message(const Json& message, const Reply& reply) {
  auto refuse = [&](const Json& id, int code, std::string_view why) {
    reply(std::make_shared<const Json>(error_message(id, code, why)));
  };
  const Json none;
  if (!message.is_object() || word(message, "jsonrpc") != "2.0")
    return refuse(none, rpc::invalid_request, "not a JSON-RPC 2.0 message");
  const bool has_id = message.contains("id");
  if (has_id && !is_id(message["id"]))
    return refuse(none, rpc::invalid_request, "'id' must be a string or an integer");
  if (!message.contains("method")) {
    // An answer to something that we never ask.
    if (message.contains("result") || message.contains("error")) return reply(nullptr);
    return refuse(has_id ? message["id"] : none, rpc::invalid_request, "'method' is missing");
  }
  const Json id = has_id ? message["id"] : none;
  if (!message["method"].is_string()) return refuse(id, rpc::invalid_request, "'method' must be a string");
  const auto method = message["method"].get<std::string>();
  const Json params = message.value("params", Json::object());
  if (!params.is_object()) {
    if (!has_id) return reply(nullptr);
    return refuse(id, rpc::invalid_params, "'params' must be an object");
  }
  if (!has_id) {
    take_notification(method, params);
    return reply(nullptr);
  }
  // Newer clients first ask for methods that we don't have, to see how old we are: those are answered below.
  if (!greeted_ && is_known(method) && method != "initialize" && method != "ping")
    return refuse(id, rpc::invalid_request, "the session must begin with initialize");
  if (method == "tools/call") return call_tool(id, params, reply);
  if (method == "logging/setLevel") {
    const int level = level_named(word(params, "level"));
    if (level == static_cast<int>(levels.size()))
      return refuse(id, rpc::invalid_params, "'level' must be one of debug … emergency");
    level_ = level;
    return reply(std::make_shared<const Json>(result_message(id, Json::object())));
  }
  int code = rpc::invalid_params;
  auto answered = answer(method, params, code);
  if (!answered) return refuse(id, code, answered.error().text());
  reply(std::make_shared<const Json>(result_message(id, *std::move(answered))));
}

void McpSession::take_notification(const std::string& method, const Json& params) {
  if (method == "notifications/cancelled" && params.contains("requestId") && is_id(params["requestId"]))
    cancel(params["requestId"], word(params, "reason"));
}

void McpSession::log(std::string_view level, std::string_view text) {
  if (level_named(level) < level_) return;
  send(notification("notifications/message",
                    {{"level", level}, {"logger", "stitchcuda"}, {"data", printable(text)}}));
}

void serve_mcp(const McpOptions& options, int in, int out) {
  McpSession session(options, out);
  LinesIn lines(in, most_message_bytes);
  constexpr int look_ms = 500;
  for (std::string line;;) switch (lines.next(line, look_ms)) {
      case LinesIn::Got::line: session.take_line(line); break;
      case LinesIn::Got::too_long: session.take_long_line(); break;
      case LinesIn::Got::nothing_yet: session.heartbeat(); break;
      case LinesIn::Got::end: return;
    }
}

}  // namespace stitch::serve
