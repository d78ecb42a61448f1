// JSON-RPC 2.0, as much of it as MCP uses.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/json.h"

namespace stitch::serve {

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

}  // namespace stitch::serve
