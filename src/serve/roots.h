// The folders that a client's paths may lie in.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace stitch::serve {

class Roots {
 public:
  // The working directory, and these. One that isn't there is the user's mistake.
  static Result<Roots> create(const std::vector<std::string>& more = {});
  // The whole path, links resolved. Relative paths begin in the working directory. `argument` is for errors.
  Result<fs::path> resolve(const std::string& argument, const std::string& path) const;
  const std::vector<fs::path>& folders() const { return folders_; }

 private:
  std::vector<fs::path> folders_;  // whole paths; the working directory first
};

// Documents that a client can read again: verdicts, plans, graphs. The latest are kept, in memory.
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
