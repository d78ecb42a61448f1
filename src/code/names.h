// C names for a model's values.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/type.h"

namespace stitch::code {

// float, __half, int64_t, …
std::string_view element_type(DType dtype);
// STITCH_F32, …
std::string_view abi_type(DType dtype);
// The headers of those that are no types of C++, and an empty line.
std::string cuda_includes(const std::set<DType>& dtypes);
// (2, 3, 224, 224)
std::string shape_comment(const Shape& shape);
// Letters, digits and underscores, and no word that C++ has taken.
std::string identifier(std::string_view text);

class Names {
 public:
  // The identifier nearest to `wanted` that nobody has.
  std::string unique(std::string_view wanted);
  bool taken(std::string_view name) const { return taken_.contains(name); }

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace stitch::code
