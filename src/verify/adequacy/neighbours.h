// The neighbours of each op: what an author may take for it. One table, by op.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "verify/adequacy/graph_mutants.h"

namespace stitch::verifier {

struct OfResult {
  double (*formula)(double);  // of each element of the first result
};
struct OfOperand {
  double (*formula)(double);  // of each element of the first operand, before the op
};
struct OfInteger {
  int64_t (*formula)(int64_t);  // of each element of the first result
};
struct LastIs {
  double value;  // of the first operand, along the dimension that is reduced: the tail that tiles leave over
};
using Computed = Result<std::vector<oracle::Tensor>> (*)(const Evaluated&);

struct Neighbour {
  Op op;
  std::string_view what;
  std::variant<Op, OfResult, OfOperand, OfInteger, LastIs, Computed> change;
};
std::span<const Neighbour> neighbours();

// What else a text attribute may say.
struct OtherText {
  Op op;
  std::string_view attribute, instead;
};
std::span<const OtherText> other_texts();

}  // namespace stitch::verifier
