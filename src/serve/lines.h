// Lines over descriptors: in, of bounded length; out, whole, from any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace stitch::serve {

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
