#include "llm/wire/sse.h"

namespace stitch::llm {

Result<void> SseParser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // the second half of CRLF
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    pending_ += bytes.substr(0, end);
    if (pending_.size() + event_.data.size() > limit_)
      return work_error("llm_too_large", format("one event of the answer is larger than {} bytes", limit_));
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const std::string whole = std::exchange(pending_, {});
    STITCH_CHECK(line(whole));
  }
  return {};
}

Result<void> SseParser::line(std::string_view text) {
  if (std::exchange(at_start_, false) && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) {
    const SseEvent whole = std::exchange(event_, SseEvent{.name = "message", .data = {}});
    return std::exchange(has_data_, false) ? on_event_(whole) : Result<void>();
  }
  const size_t colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
  return {};
}

}  // namespace stitch::llm
