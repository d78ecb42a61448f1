// stitch-runner: holds one candidate and does what the orchestrator asks (../README.md).
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/child/session.h"
#include "runner/wire.h"

namespace stitch::runner {
namespace {

class Channel {
 public:
  Descriptor descriptor;  // that came with the last line

  std::optional<std::string> read_line() {
    for (;;) {
      if (size_t end = pending_.find('\n'); end != std::string::npos) {
        std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      char buffer[1 << 14];
      const ssize_t count = receive_with_descriptor(request_descriptor, buffer, descriptor);
      if (count > 0)
        pending_.append(buffer, static_cast<size_t>(count));
      else if (count == 0 || errno != EINTR)
        return std::nullopt;
    }
  }
  bool write_line(std::string line) {
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t count = ::write(answer_descriptor, rest.data(), rest.size());
      if (count > 0)
        rest.remove_prefix(static_cast<size_t>(count));
      else if (errno != EINTR)
        return false;
    }
    return true;
  }

 private:
  std::string pending_;
};

int serve() {
  Channel channel;
  Session session;
  while (auto line = channel.read_line()) {
    auto request = parse_json(*line);
    if (!request) return 2;
    session.take(std::move(channel.descriptor));
    Json answer = {{"token", request->value("token", "")}};
    answer.update(session.answer(*request));
    // Other people's words may be no UTF-8.
    if (!channel.write_line(answer.dump(-1, ' ', false, Json::error_handler_t::replace))) return 2;
  }
  // Neither destructors nor what a candidate left for exit: whoever asked is gone.
  ::_exit(0);
}

}  // namespace
}  // namespace stitch::runner

int main() { return stitch::runner::serve(); }
