// Index arithmetic of generated kernels: sums of loop variables times constants, with quotients and
// remainders from reshapes. Kept in a canonical form, so that terms cancel.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "code/expression/expression.h"

namespace stitch::code {

class Index {
 public:
  Index(int64_t constant = 0) : constant_(constant) {}
  // In [0, extent). A variable of extent 1 is 0.
  static Index variable(std::string name, int64_t extent);

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, int64_t factor);
  // Rounds towards minus infinity; the divisor is positive.
  Index divided_by(int64_t divisor) const;
  Index modulo(int64_t divisor) const;

  // The minimum and maximum value.
  int64_t least() const;
  int64_t most() const;
  bool is_constant() const { return terms_.empty(); }
  int64_t constant() const { return constant_; }
  // The factor of a variable that occurs only by itself; `appears` also finds it inside quotients.
  int64_t factor_of(std::string_view variable) const;
  bool appears(std::string_view variable) const;
  bool appears_only_linearly(std::string_view variable) const;
  // Whether it is a multiple of `divisor` for all values of the variables.
  bool divisible_by(int64_t divisor) const;
  // Whether it contains a quotient or remainder; a term with a negative factor.
  bool splits() const;
  bool descends() const;
  // All variables, including those inside quotients.
  std::set<std::string> variables() const;

  operator Expression() const;
  std::string text() const;  // equal indices have equal texts
  bool operator==(const Index& other) const { return text() == other.text(); }

 private:
  struct Atom;
  struct Term {
    int64_t factor;
    std::shared_ptr<const Atom> atom;
  };
  static Index of(Atom atom);
  void add(int64_t factor, const std::shared_ptr<const Atom>& atom);
  void join_quotients();
  bool split(int64_t divisor, int64_t& g, Index& a, Index& r) const;

  std::vector<Term> terms_;  // in the order of their atoms, factors not 0
  int64_t constant_ = 0;
};

using Indices = std::vector<Index>;

// Row-major position of an element, and back.
Index flatten(const Indices& indices, const Shape& shape);
Indices unflatten(const Index& position, const Shape& shape);
// With given strides.
Index position(const Indices& indices, const std::vector<int64_t>& strides);

}  // namespace stitch::code
