// The text of generated code: C names for a model's values, types, and lines with trailing comments.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/type.h"

namespace stitch::code {

// float, __half, int64_t, …
std::string_view element_type(DType dtype);
// STITCH_F32, …
std::string_view abi_type(DType dtype);
// #includes for types that need a CUDA header, and an empty line.
std::string cuda_includes(const std::set<DType>& dtypes);
// (2, 3, 224, 224)
std::string shape_comment(const Shape& shape);
// A C++ identifier: letters, digits and underscores, not a keyword.
std::string identifier(std::string_view text);
bool is_keyword(std::string_view word);  // or a macro

class Names {
 public:
  // An unused identifier close to `wanted`.
  std::string unique(std::string_view wanted);
  bool taken(std::string_view name) const { return taken_.contains(name); }

 private:
  std::set<std::string, std::less<>> taken_;
};

// Lines of code with trailing comments.

// Lines with trailing comments, aligned as clang-format has them.
class Lines {
 public:
  void add(std::string code, std::string comment = {});
  std::string text() const;
  size_t widest() const;  // line width, comments included

 private:
  size_t code_width() const;  // of those that have comments
  struct Line {
    std::string code, comment;
  };
  std::vector<Line> lines_;
};

}  // namespace stitch::code
