// The folders that a client's paths may lie in.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"

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

}  // namespace stitch::serve
