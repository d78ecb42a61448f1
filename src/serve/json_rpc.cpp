#include "serve/json_rpc.h"

#include <poll.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

namespace stitch::serve {

Json result_message(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const Json& id, int code, std::string_view message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json notification(std::string_view method, Json params) {
  Json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = std::move(params);
  return message;
}

bool LinesIn::take(std::string& line) {
  const size_t end = pending_.find('\n', looked_);
  if (end == std::string::npos) {
    looked_ = pending_.size();
    return false;
  }
  line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  looked_ = 0;
  return true;
}

LinesIn::Got LinesIn::next(std::string& line, int wait_ms) {
  for (;;) {
    if (take(line)) {
      if (!std::exchange(dropping_, false) && line.size() <= most_bytes_) return Got::line;
      return Got::too_long;
    }
    if (pending_.size() > most_bytes_) {
      dropping_ = true;
      pending_.clear();
      looked_ = 0;
    }
    if (ended_) {
      if (pending_.empty()) return Got::end;
      pending_ += '\n';  // a last line without one
      continue;
    }
    pollfd ready{descriptor_, POLLIN, 0};
    const int count = ::poll(&ready, 1, wait_ms);
    if (count < 0 && errno != EINTR) return Got::end;
    if (count <= 0) return Got::nothing_yet;
    std::array<char, 1 << 16> buffer;
    const ssize_t bytes = ::read(descriptor_, buffer.data(), buffer.size());
    if (bytes > 0)
      pending_.append(buffer.data(), static_cast<size_t>(bytes));
    else if (bytes == 0 || (errno != EINTR && errno != EAGAIN))
      ended_ = true;
  }
}

void LinesOut::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  std::lock_guard hold(lock_);
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count > 0)
      rest.remove_prefix(static_cast<size_t>(count));
    else if (count < 0 && errno != EINTR)
      return;
  }
}

}  // namespace stitch::serve
