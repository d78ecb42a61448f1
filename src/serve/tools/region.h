// The client's source for one region in a copy of a program's folder: only the region's file is replaced.
#pragma once

#include <string>
#include <vector>

#include "program/package.h"

namespace stitch::serve {

struct ReplacedRegion {
  fs::path folder;                // the copy
  std::string file;               // that was replaced
  std::vector<std::string> also;  // other regions in that file
};

Result<ReplacedRegion> put_into_copy(const Package& package, const std::string& name,
                                     const std::string& source, const fs::path& copy);

}  // namespace stitch::serve
