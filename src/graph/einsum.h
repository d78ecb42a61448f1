// A parsed einsum equation: "bij,bjk->bik". Letters only, results always written out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/type.h"

namespace stitch {

struct Einsum {
  std::vector<std::string> operands;  // one letter per dimension
  std::string result;
};

Result<Einsum> parse_einsum(const std::string& equation);
// Every letter's size, checked against the operands' shapes.
Result<std::vector<int64_t>> letter_sizes(const Einsum& einsum, const std::vector<Shape>& shapes);

}  // namespace stitch
