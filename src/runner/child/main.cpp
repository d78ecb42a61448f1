// stitch-runner: holds one candidate and executes the orchestrator's requests (../README.md).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "runner/child/session.h"
#include "runner/wire.h"

namespace stitch::runner {
namespace {

class Channel {
 public:
  Descriptor descriptor;  // received with the last line

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
    // The candidate's text may be invalid UTF-8.
    if (!channel.write_line(line_text(answer))) return 2;
  }
  // Skip destructors and the candidate's atexit handlers: the orchestrator is gone.
  ::_exit(0);
}

// stitch-runner --script REQUESTS ARENA: requests from a file, for profilers that start the process
// themselves and pass no descriptors on. Stops at the first answer that isn't ok.
int follow(const char* script, const char* arena) {
  auto text = read_file(script);
  const int opened = ::open(arena, O_RDWR | O_CLOEXEC);
  if (!text || opened < 0 || ::dup2(opened, arena_descriptor) < 0) {
    std::fprintf(stderr, "stitch-runner: cannot read %s or %s\n", script, arena);
    return 2;
  }
  Session session;
  for (const std::string& line : split(*text, '\n')) {
    if (line.empty()) continue;
    auto request = parse_json(line);
    if (!request) return 2;
    const Json answer = session.answer(*request);
    if (answer.value("ok", false)) continue;
    std::fprintf(stderr, "stitch-runner: %s\n",
                 answer.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace stitch::runner

int main(int count, char** words) {
  using namespace stitch::runner;
  if (count == 4 && std::string_view(words[1]) == "--script") return follow(words[2], words[3]);
  return serve();
}
