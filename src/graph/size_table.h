// A number of a graph or of generated code as a formula of sizes, found from its values at several of them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "graph/instances.h"

namespace stitch {

class SizeTable {
 public:
  SizeTable(Dimensions dimensions, const std::vector<Sizes>& rows);
  // The same with the sizes that the model itself derives: a strided convolution's results.
  explicit SizeTable(const Instances& instances);

  const Dimensions& dimensions() const { return dimensions_; }
  size_t rows() const { return rows_; }

  // One value for each row. The simplest formula that has them all; its names have `prefix` in front
  // ("sizes."). It is in 64 bits where a value within the ranges needs them. Nothing: there is none.
  std::optional<std::string> formula(std::span<const int64_t> values, std::string_view prefix) const;
  // Sizes of the model whose quotient has these values, in double: what an image is resized by.
  struct Ratio {
    std::string above, below;
  };
  std::optional<Ratio> ratio(std::span<const double> values, std::string_view prefix) const;

 private:
  using Values = std::vector<int64_t>;
  // A size, or a number derived from one. Names in its text have '@' in front.
  struct Atom {
    std::string text;
    Values values;
    double most = 0;
  };
  struct Monomial {
    std::vector<size_t> factors;  // atoms, ascending
    Values values;
    double most = 0;
  };
  struct Term {
    const Monomial* monomial = nullptr;
    int64_t scale = 1;
  };
  // (terms + offset) / divisor * factor * times
  struct Formula {
    std::vector<Term> terms;
    int64_t offset = 0, divisor = 1, times = 1;
    const Monomial* factor = nullptr;
  };

  // More than the formula has numbers, or all that there can be: any three values of one size lie on a
  // parabola.
  bool has_seen_enough(const Formula& formula) const;
  static bool is_new_size(const Formula& formula);
  void add_atom(Atom atom);
  void make_monomials();
  std::optional<Formula> fit(std::span<const int64_t> values) const;
  std::optional<Formula> two_terms(std::span<const int64_t> values, bool with_offset) const;
  std::optional<Formula> quotient(std::span<const int64_t> values) const;
  std::optional<Formula> scaled_quotient(std::span<const int64_t> values) const;
  std::string text(const Formula& formula, bool typed) const;
  std::string text(const Term& term, bool wide) const;

  Dimensions dimensions_;
  size_t rows_ = 0;
  std::vector<Atom> atoms_;
  std::vector<Monomial> monomials_;  // simplest first
  std::map<Values, Values> known_;   // a size of the model at the rows: at all instances
};

}  // namespace stitch
