// Documents that a client can read again: verdicts, plans, graphs. The latest are kept, in memory.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace stitch::serve {

struct Resource {
  std::string uri;  // stitchcuda://verdict/3
  std::string title;
  std::string type;  // application/json, text/markdown, text/plain
  std::string text;
};

// Threads may share one.
class Resources {
 public:
  std::string keep(std::string_view kind, std::string_view title, std::string text);
  std::optional<Resource> find(std::string_view uri) const;
  std::vector<Resource> list() const;  // without their texts, the newest first

 private:
  static constexpr size_t most_documents = 64, most_bytes = size_t{64} << 20;
  mutable std::mutex lock_;
  std::deque<Resource> kept_;
  size_t bytes_ = 0;
  int made_ = 0;
};

inline constexpr std::string_view uri_scheme = "stitchcuda://";

}  // namespace stitch::serve
