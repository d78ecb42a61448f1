// Lines of code with trailing comments.
#pragma once

#include <string>
#include <vector>

namespace stitch::code {

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
