// The date, for records.
#pragma once

#include <ctime>
#include <string>

namespace stitch::verifier {

// 2026-11-15T08:30:00Z
inline std::string utc_now() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace stitch::verifier
