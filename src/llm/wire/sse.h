// Server-sent events out of bytes that come in any pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch::llm {

struct SseEvent {
  std::string name;  // "message" unless an event: line said otherwise
  std::string data;  // the data: lines, joined by newlines
};

// Lines end with LF, CRLF or CR; comments, id: and retry: lines are read over; a byte order mark is skipped.
// An event that no empty line ends is dropped, as the standard says: the stream was cut in it.
class SseParser {
 public:
  using OnEvent = std::function<Result<void>(const SseEvent&)>;
  // `limit`: bytes of one event, against servers that never end one.
  explicit SseParser(OnEvent on_event, size_t limit = 16 << 20)
      : on_event_(std::move(on_event)), limit_(limit) {}
  Result<void> feed(std::string_view bytes);

 private:
  Result<void> line(std::string_view text);
  OnEvent on_event_;
  const size_t limit_;
  std::string pending_;  // the line so far
  bool after_return_ = false, at_start_ = true, has_data_ = false;
  SseEvent event_{.name = "message", .data = {}};
};

}  // namespace stitch::llm
