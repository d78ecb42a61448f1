// A client in the same process, for tests: messages over two pipes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.h"
#include "base/machine/descriptor.h"
#include "serve/mcp.h"
#include "serve/mcp_session.h"

namespace stitch::serve {

class Client {
 public:
  explicit Client(const McpOptions& options) {
    int to[2], from[2];
    // Not for the tools' children, who would hold the server's input open.
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw Bug("no pipes");
    in_ = Descriptor(to[1]);
    lines_.emplace(from[0], size_t{64} << 20);
    answers_ = Descriptor(from[0]);
    server_ = std::thread([&options, theirs = to[0], out = from[1]] {
      serve_mcp(options, theirs, out);
      ::close(theirs);
      ::close(out);
    });
  }
  ~Client() { leave(); }
  void leave() {
    in_ = Descriptor();
    if (server_.joinable()) server_.join();
  }

  void send_text(const std::string& text) {
    const std::string line = text + "\n";
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t count = ::write(in_.get(), line.data() + sent, line.size() - sent);
      if (count <= 0) throw Bug("the server is gone");
      sent += static_cast<size_t>(count);
    }
  }
  void send(const Json& message) { send_text(message.dump()); }

  // The next message that `wanted` accepts; others are kept for later calls. Null after `patience`.
  template <class Wanted>
  Json receive(Wanted wanted, std::chrono::seconds patience = std::chrono::seconds(300)) {
    for (auto it = seen_.begin(); it != seen_.end(); ++it)
      if (wanted(*it)) {
        Json found = *it;
        seen_.erase(it);
        return found;
      }
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      std::string line;
      const auto got = lines_->next(line, 100);
      if (got == LinesIn::Got::end) return nullptr;
      if (got != LinesIn::Got::line) continue;
      auto message = parse_json(line);
      EXPECT_TRUE(message) << "no protocol line: " << line.substr(0, 200);
      if (!message) continue;
      if (wanted(*message)) return *message;
      seen_.push_back(*std::move(message));
    }
    return nullptr;
  }
  Json answer_to(const Json& id, std::chrono::seconds patience = std::chrono::seconds(300)) {
    return receive([&](const Json& message) { return message.contains("id") && message["id"] == id; },
                   patience);
  }
  Json notified(const std::string& method, std::chrono::seconds patience = std::chrono::seconds(10)) {
    return receive([&](const Json& message) { return word(message, "method") == method; }, patience);
  }

  int start(const std::string& method, Json params = Json::object()) {
    send({{"jsonrpc", "2.0"}, {"id", ++last_}, {"method", method}, {"params", std::move(params)}});
    return last_;
  }
  Json ask(const std::string& method, Json params = Json::object()) {
    return answer_to(start(method, std::move(params)));
  }
  int start_tool(const std::string& name, Json arguments = Json::object(), Json token = nullptr) {
    Json params = {{"name", name}, {"arguments", std::move(arguments)}};
    if (!token.is_null()) params["_meta"]["progressToken"] = token;
    return start("tools/call", std::move(params));
  }
  // The result of a call.
  Json tool(const std::string& name, Json arguments = Json::object()) {
    const Json answer = answer_to(start_tool(name, std::move(arguments)));
    EXPECT_TRUE(answer.contains("result")) << name << ": " << answer.dump().substr(0, 500);
    return answer.contains("result") ? answer["result"] : Json();
  }
  Json hello(const std::string& version = "2025-11-25") {
    const Json answer = ask("initialize", {{"protocolVersion", version},
                                           {"capabilities", Json::object()},
                                           {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
    return answer["result"];
  }
  static std::string said(const Json& result) { return result["content"][0]["text"].get<std::string>(); }

 private:
  Descriptor in_, answers_;
  std::optional<LinesIn> lines_;
  std::deque<Json> seen_;
  std::thread server_;
  int last_ = 0;
};

}  // namespace stitch::serve
