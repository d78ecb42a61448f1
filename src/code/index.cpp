#include "code/index.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>
#include <set>

#include "base/result.h"
#include "code/expression/statement.h"

namespace stitch::code {

struct Index::Atom {
  enum Kind : uint8_t { variable, quotient, remainder } kind;
  std::string text;  // a variable's name; otherwise made from the operand
  int64_t extent = 0;
  std::shared_ptr<const Index> operand;
  int64_t divisor = 0;
  Expression expression = {};
};

namespace {

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t floor_remainder(int64_t a, int64_t b) { return a - floor_quotient(a, b) * b; }

// The order of terms: by their form, then by their numbers. Sizes must not decide it: the code at two sizes
// of a model is one text with other numbers.
bool before(std::string_view a, std::string_view b) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::strong_ordering numbers = std::strong_ordering::equal;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const size_t from = i, other = j;
      while (i < a.size() && is_digit(a[i])) ++i;
      while (j < b.size() && is_digit(b[j])) ++j;
      if (numbers == 0) numbers = i - from <=> j - other;
      if (numbers == 0) numbers = a.substr(from, i - from) <=> b.substr(other, j - other);
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return numbers < 0;
}

// How many divisors to add to make the minimum non-negative.
int64_t multiples_to_lift(int64_t least, int64_t divisor) {
  return least >= 0 ? 0 : floor_quotient(-least + divisor - 1, divisor);
}

}  // namespace

Index Index::of(Atom atom) {
  if (atom.operand) {
    Expression inner = *atom.operand;
    atom.expression = atom.kind == Atom::quotient ? inner / atom.divisor : inner % atom.divisor;
    atom.text = text_of(atom.expression);
  } else {
    atom.expression = named(atom.text);
  }
  Index out;
  out.terms_.push_back({1, std::make_shared<const Atom>(std::move(atom))});
  return out;
}

Index Index::variable(std::string name, int64_t extent) {
  if (extent <= 1) return 0;
  return of({Atom::variable, std::move(name), extent, nullptr, 0});
}

void Index::add(int64_t factor, const std::shared_ptr<const Atom>& atom) {
  auto at =
      std::ranges::lower_bound(terms_, atom->text, before, [](const Term& term) { return term.atom->text; });
  if (at != terms_.end() && at->atom->text == atom->text) {
    at->factor += factor;
    if (at->factor == 0) terms_.erase(at);
  } else if (factor != 0) {
    terms_.insert(at, {factor, atom});
  }
}

// f (x / d) d + f (x % d) is f x; also if x / d is written as one quotient of something else.
void Index::join_quotients() {
  for (size_t i = 0; i < terms_.size(); ++i) {
    const auto rest = terms_[i].atom;
    int64_t factor = terms_[i].factor;
    if (rest->kind != Atom::remainder) continue;
    Index whole = rest->operand->divided_by(rest->divisor);
    if (whole.constant_ != 0 || whole.terms_.size() != 1 || whole.terms_[0].factor != 1) continue;
    for (size_t j = 0; j < terms_.size(); ++j) {
      if (terms_[j].factor != factor * rest->divisor || terms_[j].atom->text != whole.terms_[0].atom->text)
        continue;
      Index joined = *this;
      joined.terms_.erase(joined.terms_.begin() + static_cast<int64_t>(std::max(i, j)));
      joined.terms_.erase(joined.terms_.begin() + static_cast<int64_t>(std::min(i, j)));
      *this = joined + *rest->operand * factor;
      return;
    }
  }
}

Index operator+(const Index& a, const Index& b) {
  Index out = a;
  out.constant_ += b.constant_;
  for (const Index::Term& term : b.terms_) out.add(term.factor, term.atom);
  out.join_quotients();
  return out;
}

Index operator*(const Index& a, int64_t factor) {
  if (factor == 0) return 0;
  Index out = a;
  out.constant_ *= factor;
  for (Index::Term& term : out.terms_) term.factor *= factor;
  return out;
}

Index operator-(const Index& a, const Index& b) { return a + b * -1; }

int64_t Index::least() const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    const Atom& atom = *term.atom;
    bool quotient = atom.kind == Atom::quotient;
    int64_t low = quotient ? floor_quotient(atom.operand->least(), atom.divisor) : 0;
    int64_t high = quotient ? floor_quotient(atom.operand->most(), atom.divisor)
                            : (atom.kind == Atom::remainder ? atom.divisor : atom.extent) - 1;
    sum += term.factor * (term.factor > 0 ? low : high);
  }
  return sum;
}

int64_t Index::most() const { return -(*this * -1).least(); }

// Splits this into g a + r with 0 <= r < g for the largest such g dividing the divisor: a pack's number and a
// lane. Then its quotient needs a alone, and r is unchanged in its remainder.
bool Index::split(int64_t divisor, int64_t& g, Index& a, Index& r) const {
  std::set<int64_t, std::greater<>> candidates;
  for (const Term& term : terms_)
    if (int64_t shared = std::gcd(term.factor, divisor); shared > 1 && shared < divisor)
      candidates.insert(shared);
  for (int64_t each : candidates) {
    Index whole, rest;
    for (const Term& term : terms_)
      if (term.factor % each == 0)
        whole.add(term.factor / each, term.atom);
      else
        rest.add(term.factor, term.atom);
    whole.constant_ = floor_quotient(constant_, each);
    rest.constant_ = floor_remainder(constant_, each);
    if (rest.terms_.empty() || rest.least() < 0 || rest.most() >= each) continue;
    g = each;
    a = whole;
    r = rest;
    return true;
  }
  return false;
}

Index Index::divided_by(int64_t divisor) const {
  require(divisor > 0, "indices are divided by positive numbers");
  if (divisor == 1) return *this;
  Index whole, rest;
  for (const Term& term : terms_) {
    int64_t multiple = floor_quotient(term.factor, divisor);
    if (term.factor % divisor == 0)
      whole.add(multiple, term.atom);
    else
      rest.add(term.factor, term.atom);
  }
  whole.constant_ = floor_quotient(constant_, divisor);
  rest.constant_ = floor_remainder(constant_, divisor);
  if (rest.least() >= 0 && rest.most() < divisor) return whole;
  int64_t g = 1;
  if (Index a, r; rest.split(divisor, g, a, r)) return whole + a.divided_by(divisor / g);
  // C rounds towards zero: the dividend must not be negative.
  if (int64_t raise = multiples_to_lift(rest.least(), divisor); raise > 0) {
    rest.constant_ += raise * divisor;
    whole.constant_ -= raise;
  }
  // (x / a) / b is x / (a b), for whole terms only.
  if (rest.terms_.size() == 1 && rest.constant_ == 0 && rest.terms_[0].factor == 1 &&
      rest.terms_[0].atom->kind == Atom::quotient) {
    const Atom& inner = *rest.terms_[0].atom;
    return whole + inner.operand->divided_by(inner.divisor * divisor);
  }
  return whole + of({Atom::quotient, {}, 0, std::make_shared<const Index>(rest), divisor});
}

Index Index::modulo(int64_t divisor) const {
  require(divisor > 0, "indices are divided by positive numbers");
  if (divisor == 1) return 0;
  Index rest;
  for (const Term& term : terms_)
    if (term.factor % divisor != 0) rest.add(term.factor, term.atom);
  rest.constant_ = floor_remainder(constant_, divisor);
  if (rest.least() >= 0 && rest.most() < divisor) return rest;
  if (rest.terms_.empty()) return rest.constant_;
  int64_t g = 1;
  if (Index a, r; rest.split(divisor, g, a, r)) return a.modulo(divisor / g) * g + r;
  // Factors out a common divisor: (4 x) % 12 is 4 (x % 3).
  if (rest.constant_ == 0 && rest.terms_.size() == 1 && rest.terms_[0].factor > 1 &&
      divisor % rest.terms_[0].factor == 0) {
    int64_t factor = rest.terms_[0].factor;
    Index single;
    single.add(1, rest.terms_[0].atom);
    return single.modulo(divisor / factor) * factor;
  }
  rest.constant_ += multiples_to_lift(rest.least(), divisor) * divisor;
  return of({Atom::remainder, {}, 0, std::make_shared<const Index>(rest), divisor});
}

int64_t Index::factor_of(std::string_view variable) const {
  for (const Term& term : terms_)
    if (term.atom->kind == Atom::variable && term.atom->text == variable) return term.factor;
  return 0;
}

bool Index::appears_only_linearly(std::string_view variable) const {
  return std::ranges::none_of(
      terms_, [&](const Term& term) { return term.atom->operand && term.atom->operand->appears(variable); });
}

bool Index::appears(std::string_view variable) const {
  return factor_of(variable) != 0 || !appears_only_linearly(variable);
}

bool Index::divisible_by(int64_t divisor) const {
  return constant_ % divisor == 0 &&
         std::ranges::all_of(terms_, [&](const Term& term) { return term.factor % divisor == 0; });
}

bool Index::splits() const {
  return std::ranges::any_of(terms_, [](const Term& term) { return term.atom->operand != nullptr; });
}

bool Index::descends() const {
  return std::ranges::any_of(terms_, [](const Term& term) {
    return term.factor < 0 || (term.atom->operand && term.atom->operand->descends());
  });
}

std::set<std::string> Index::variables() const {
  std::set<std::string> out;
  for (const Term& term : terms_)
    if (term.atom->operand)
      out.merge(term.atom->operand->variables());
    else
      out.insert(term.atom->text);
  return out;
}

Index::operator Expression() const {
  if (terms_.empty()) return constant_;
  Expression sum;
  for (const Term& term : terms_) {
    const bool first = sum.empty(), down = term.factor < 0;
    const int64_t factor = first ? term.factor : std::abs(term.factor);
    Expression each = term.atom->expression;
    if (factor == -1)
      each = unary(Operator::negate, each);
    else if (factor != 1)
      each = each * factor;
    sum = first ? each : down ? sum - each : sum + each;
  }
  if (constant_ > 0) sum = sum + constant_;
  if (constant_ < 0) sum = sum - -constant_;
  return sum;
}

std::string Index::text() const { return text_of(*this); }

Index flatten(const Indices& indices, const Shape& shape) {
  return position(indices, contiguous_strides(shape));
}

Index position(const Indices& indices, const std::vector<int64_t>& strides) {
  Index sum;
  for (size_t d = 0; d < indices.size(); ++d) sum = sum + indices[d] * strides[d];
  return sum;
}

Indices unflatten(const Index& position, const Shape& shape) {
  Indices out(shape.size());
  std::vector<int64_t> strides = contiguous_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    Index quotient = position.divided_by(std::max<int64_t>(strides[d], 1));
    out[d] = quotient.least() >= 0 && quotient.most() < shape[d] ? quotient : quotient.modulo(shape[d]);
  }
  return out;
}

}  // namespace stitch::code
