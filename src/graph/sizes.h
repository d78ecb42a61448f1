// Sizes that change from call to call: their names and ranges, and numbers written in them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stitch {

// A size of the call with a range: "batch", 1 to 64, the first dimension of the first input.
struct Dimension {
  struct Place {
    int input = 0;  // among the graph's inputs
    int dim = 0;
    bool operator==(const Place&) const = default;
  };
  std::string name;  // a C identifier
  int64_t least = 1, most = 1;
  int64_t multiple = 1;  // every size is one of it
  std::vector<Place> places;

  bool contains(int64_t size) const { return size >= least && size <= most && size % multiple == 0; }
  bool operator==(const Dimension&) const = default;
};
using Dimensions = std::vector<Dimension>;

using Sizes = std::map<std::string, int64_t, std::less<>>;
std::string text(const Sizes& sizes);          // batch=3, length=17
std::string text(const Dimension& dimension);  // batch=1..64

// A program computes otherwise where a formula of the sizes is larger than `most`.
struct Border {
  std::string measure;  // "batch * length"
  int64_t most = 0;
  auto operator<=>(const Border&) const = default;
};

// Integers, names, + - * / and parentheses as in C: "batch * (length / 2)".
Result<int64_t> evaluate_size(std::string_view formula, const Sizes& sizes);

}  // namespace stitch
