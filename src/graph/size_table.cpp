#include "graph/size_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/text.h"

namespace stitch {

namespace {

constexpr double most_int = 2147483647.0;

// Divisors that launches, tiles and strides have, the likeliest first.
const std::vector<int64_t>& divisors() {
  static const std::vector<int64_t> all = [] {
    std::vector<int64_t> out;
    for (int64_t d = 2; d <= 4096; d *= 2) out.push_back(d);
    for (int64_t d = 96; d <= 1024; d += 32) out.push_back(d);
    for (int64_t d = 3; d <= 96; ++d) out.push_back(d);
    std::vector<int64_t> unique;
    for (int64_t d : out)
      if (std::ranges::count(unique, d) == 0) unique.push_back(d);
    return unique;
  }();
  return all;
}

std::string parenthesised(const std::string& text) {
  const bool simple = std::ranges::none_of(text, [](char c) { return c == ' '; });
  return simple || (text.front() == '(' && text.find(')') + 1 == text.size()) ? text : "(" + text + ")";
}

bool all_equal(std::span<const int64_t> values) {
  return std::ranges::all_of(values, [&](int64_t each) { return each == values[0]; });
}

}  // namespace

SizeTable::SizeTable(Dimensions dimensions, const std::vector<Sizes>& rows)
    : dimensions_(std::move(dimensions)), rows_(rows.size()) {
  for (const Dimension& dimension : dimensions_) {
    Atom atom{"@" + dimension.name, {}, static_cast<double>(dimension.most)};
    for (const Sizes& row : rows) atom.values.push_back(row.at(dimension.name));
    atoms_.push_back(std::move(atom));
  }
  make_monomials();
}

SizeTable::SizeTable(const Instances& instances)
    : dimensions_(instances.dimensions), rows_(instances.all.size()) {
  std::vector<const Instance*> each;
  for (const Instance& instance : instances.all) each.push_back(&instance);
  each.push_back(&instances.largest);  // of other remainders: it tells (n - 1) / 2 from n / 2
  for (const Dimension& dimension : dimensions_) {
    Atom atom{"@" + dimension.name, {}, static_cast<double>(dimension.most)};
    for (const Instance* instance : each) atom.values.push_back(instance->sizes.at(dimension.name));
    atoms_.push_back(std::move(atom));
  }
  make_monomials();
  std::set<Values> sizes;
  const auto value_count = each[0]->graph.values.size();
  for (size_t v = 0; v < value_count; ++v)
    for (size_t d = 0; d < each[0]->graph.values[v].type.shape.size(); ++d) {
      Values values;
      for (const Instance* instance : each) values.push_back(instance->graph.values[v].type.shape[d]);
      if (!all_equal(values)) sizes.insert(std::move(values));
    }
  std::vector<Values> in_order(sizes.begin(), sizes.end());
  // Larger ones first: a small one is a quotient of what it was made from.
  std::ranges::stable_sort(in_order, std::greater(), [](const Values& values) { return values.back(); });
  constexpr size_t most_atoms = 12;
  for (const Values& values : in_order) {
    known_.try_emplace(Values(values.begin(), values.end() - 1), values);
    const auto found = fit(values);
    if (!found || !is_new_size(*found) || atoms_.size() >= most_atoms) continue;
    add_atom({parenthesised(text(*found, false)), values, static_cast<double>(values.back())});
  }
}

bool SizeTable::has_seen_enough(const Formula& formula) const {
  std::set<size_t> atoms;
  for (const Term& term : formula.terms)
    atoms.insert(term.monomial->factors.begin(), term.monomial->factors.end());
  std::set<Values> seen;
  for (size_t row = 0; row < rows_; ++row) {
    Values own;
    for (size_t atom : atoms) own.push_back(atoms_[atom].values[row]);
    seen.insert(std::move(own));
  }
  const size_t numbers = formula.terms.size() + (formula.offset != 0 ? 1 : 0);
  double possible = 1;
  for (size_t atom : atoms)
    possible *= atom >= dimensions_.size()
                    ? static_cast<double>(rows_ + 1)  // derived from others
                    : static_cast<double>(dimensions_[atom].most / dimensions_[atom].multiple -
                                          (dimensions_[atom].least - 1) / dimensions_[atom].multiple);
  return seen.size() > numbers || static_cast<double>(seen.size()) >= possible;
}

// (n - 1) / 2, n + 2, past + new: what products have as a factor. A product itself is none.
bool SizeTable::is_new_size(const Formula& formula) {
  if (formula.times != 1 || formula.factor) return false;
  if (formula.divisor == 1 && formula.offset == 0 && formula.terms.size() == 1) return false;
  return formula.divisor != 1 || std::ranges::all_of(formula.terms, [](const Term& term) {
           return term.monomial->factors.size() == 1 && std::abs(term.scale) <= 2;
         });
}

void SizeTable::add_atom(Atom atom) {
  atoms_.push_back(std::move(atom));
  make_monomials();
}

void SizeTable::make_monomials() {
  const size_t most_degree = atoms_.size() > 5 ? 3 : 4;
  monomials_.clear();
  size_t begin = 0;
  for (size_t a = 0; a < atoms_.size(); ++a) monomials_.push_back({{a}, atoms_[a].values, atoms_[a].most});
  for (size_t degree = 2; degree <= most_degree; ++degree) {
    const size_t end = monomials_.size();
    for (size_t m = begin; m < end; ++m)
      for (size_t a = monomials_[m].factors.back(); a < atoms_.size(); ++a) {
        Monomial next = monomials_[m];
        next.factors.push_back(a);
        next.most *= atoms_[a].most;
        for (size_t i = 0; i < next.values.size(); ++i) next.values[i] *= atoms_[a].values[i];
        monomials_.push_back(std::move(next));
      }
    begin = end;
  }
}

std::optional<SizeTable::Formula> SizeTable::fit(std::span<const int64_t> values) const {
  for (const Monomial& monomial : monomials_) {
    if (values[0] % monomial.values[0] != 0 || values[0] == 0) continue;
    const int64_t scale = values[0] / monomial.values[0];
    bool all = true;
    for (size_t i = 0; i < values.size() && all; ++i) all = values[i] == scale * monomial.values[i];
    if (all) return Formula{.terms = {{&monomial, scale}}};
  }
  for (const Monomial& monomial : monomials_) {
    size_t other = 0;
    while (other < values.size() && monomial.values[other] == monomial.values[0]) ++other;
    if (other == values.size()) continue;
    const int64_t run = monomial.values[other] - monomial.values[0], rise = values[other] - values[0];
    if (rise == 0 || rise % run != 0) continue;
    const int64_t scale = rise / run, offset = values[0] - scale * monomial.values[0];
    bool all = true;
    for (size_t i = 0; i < values.size() && all; ++i) all = values[i] == scale * monomial.values[i] + offset;
    Formula out{.terms = {{&monomial, scale}}, .offset = offset};
    if (all && has_seen_enough(out)) return out;
  }
  if (auto found = two_terms(values, false)) return found;
  if (auto found = two_terms(values, true)) return found;
  if (auto found = quotient(values)) return found;
  return scaled_quotient(values);
}

// a P + b Q (+ offset), by Cramer's rule over the first rows.
std::optional<SizeTable::Formula> SizeTable::two_terms(std::span<const int64_t> values,
                                                       bool with_offset) const {
  using Wide = __int128;
  const size_t rows = values.size();
  if (rows < (with_offset ? 4U : 3U)) return std::nullopt;
  auto at = [&](const Values& of, size_t i) {
    return static_cast<Wide>(of[i] - (with_offset ? of[rows - 1] : 0));
  };
  const Values wanted(values.begin(), values.end());
  for (size_t p = 0; p < monomials_.size(); ++p)
    for (size_t q = p + 1; q < monomials_.size(); ++q) {
      const Values &P = monomials_[p].values, &Q = monomials_[q].values;
      const Wide determinant = at(P, 0) * at(Q, 1) - at(P, 1) * at(Q, 0);
      if (determinant == 0) continue;
      const Wide a = at(wanted, 0) * at(Q, 1) - at(wanted, 1) * at(Q, 0);
      const Wide b = at(P, 0) * at(wanted, 1) - at(P, 1) * at(wanted, 0);
      if (a == 0 || b == 0 || a % determinant != 0 || b % determinant != 0) continue;
      const auto scale_p = static_cast<int64_t>(a / determinant),
                 scale_q = static_cast<int64_t>(b / determinant);
      const int64_t offset = values[0] - scale_p * P[0] - scale_q * Q[0];
      if (!with_offset && offset != 0) continue;
      bool all = true;
      for (size_t i = 0; i < rows && all; ++i) all = values[i] == scale_p * P[i] + scale_q * Q[i] + offset;
      if (!all) continue;
      Formula out{.terms = {{&monomials_[p], scale_p}, {&monomials_[q], scale_q}}, .offset = offset};
      if (!has_seen_enough(out)) continue;
      if (scale_p < 0) std::swap(out.terms[0], out.terms[1]);
      return out;
    }
  return std::nullopt;
}

// (a P + d) / q: rounded up if that has all values, or down, or with another d.
std::optional<SizeTable::Formula> SizeTable::quotient(std::span<const int64_t> values) const {
  // A choice between two tiles is no quotient, though some quotient has its values.
  if (std::set<int64_t>(values.begin(), values.end()).size() < 3) return std::nullopt;
  const auto largest = static_cast<size_t>(std::ranges::max_element(values) - values.begin());
  std::optional<Formula> odd;  // neither up nor down
  for (const Monomial& monomial : monomials_)
    for (int64_t divisor : divisors()) {
      const auto near =
          static_cast<int64_t>(static_cast<double>(values[largest]) * static_cast<double>(divisor) /
                               static_cast<double>(monomial.values[largest]));
      for (int64_t scale = std::max<int64_t>(near - 1, 1); scale <= near + 1; ++scale) {
        if (std::gcd(scale, divisor) != 1) continue;
        int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
        for (size_t i = 0; i < values.size() && low <= high; ++i) {
          const int64_t rest = values[i] * divisor - scale * monomial.values[i];
          low = std::max(low, rest);
          high = std::min(high, rest + divisor - 1);
        }
        if (low > high) continue;
        Formula out{.terms = {{&monomial, scale}}, .divisor = divisor};
        bool whole = true;  // without a rest: sizes that are multiples
        for (size_t i = 0; i < values.size() && whole; ++i)
          whole = scale * monomial.values[i] == values[i] * divisor;
        if (whole) return out;
        for (int64_t offset : {divisor - 1, int64_t{0}})
          if (low <= offset && offset <= high) {
            out.offset = offset;
            return out;
          }
        out.offset = low;
        // Windows and strides of an image have such; of two that fit, the narrower interval says more.
        if (!odd && std::abs(low) <= 64 && scale == 1) odd = out;
      }
    }
  return odd;
}

// A multiple of a quotient, the monomial too: blocks for each sample.
std::optional<SizeTable::Formula> SizeTable::scaled_quotient(std::span<const int64_t> values) const {
  auto scaled = [&](std::span<const int64_t> inner, const Monomial* factor) -> std::optional<Formula> {
    int64_t shared = 0;
    for (int64_t each : inner) shared = std::gcd(shared, each);
    if (shared == 0) return std::nullopt;
    std::vector<int64_t> times = {shared};
    if (shared != 1) times.push_back(1);
    for (int64_t by : times) {
      if (by == 1 && !factor) continue;  // tried
      Values each(inner.begin(), inner.end());
      for (int64_t& value : each) value /= by;
      if (all_equal(each)) continue;
      if (auto found = quotient(each)) {
        found->times = by;
        found->factor = factor;
        return found;
      }
    }
    return std::nullopt;
  };
  if (auto found = scaled(values, nullptr)) return found;
  for (const Monomial& monomial : monomials_) {
    Values inner;
    for (size_t i = 0; i < values.size() && values[i] % monomial.values[i] == 0; ++i)
      inner.push_back(values[i] / monomial.values[i]);
    if (inner.size() == values.size())
      if (auto found = scaled(inner, &monomial)) return found;
  }
  return std::nullopt;
}

std::string SizeTable::text(const Term& term, bool wide) const {
  std::string out;
  for (size_t factor : term.monomial->factors) {
    const std::string& each = atoms_[factor].text;
    if (out.empty())
      out = wide ? format("int64_t{{{}}}", each) : each;
    else
      out += " * " + each;
  }
  return std::abs(term.scale) == 1 ? out : format("{} * {}", out, std::abs(term.scale));
}

std::string SizeTable::text(const Formula& formula, bool typed) const {
  double most = std::abs(static_cast<double>(formula.offset));
  for (const Term& term : formula.terms)
    most += std::abs(static_cast<double>(term.scale)) * term.monomial->most;
  const double outer = (formula.factor ? formula.factor->most : 1.0) * static_cast<double>(formula.times);
  const bool wide =
      typed && (most > most_int || most / static_cast<double>(formula.divisor) * outer > most_int);
  std::string out;
  for (const Term& term : formula.terms)
    out += (out.empty() ? term.scale < 0 ? "-" : "" : term.scale < 0 ? " - " : " + ") + text(term, wide);
  if (formula.offset != 0) out += format(" {} {}", formula.offset < 0 ? "-" : "+", std::abs(formula.offset));
  const bool sum = formula.terms.size() > 1 || formula.offset != 0 || formula.terms[0].scale < 0;
  if (formula.divisor != 1) out = format("{} / {}", sum ? "(" + out + ")" : out, formula.divisor);
  if (!formula.factor && formula.times == 1) return out;
  if (formula.divisor != 1 || sum) out = "(" + out + ")";
  if (formula.factor) out += " * " + text(Term{formula.factor, 1}, false);
  return formula.times == 1 ? out : format("{} * {}", out, formula.times);
}

std::optional<std::string> SizeTable::formula(std::span<const int64_t> values,
                                              std::string_view prefix) const {
  if (all_equal(values)) return std::to_string(values[0]);
  const auto known = known_.find(Values(values.begin(), values.end()));
  auto found = known != known_.end() ? fit(known->second) : std::nullopt;
  if (!found) found = fit(values);
  if (!found) return std::nullopt;
  std::string out;
  // Names alone are for evaluate_size, which counts in 64 bits.
  for (char c : text(*found, !prefix.empty())) {
    if (c == '@')
      out += prefix;
    else
      out += c;
  }
  return out;
}

std::optional<SizeTable::Ratio> SizeTable::ratio(std::span<const double> values,
                                                 std::string_view prefix) const {
  auto over = [&](const Values& below) -> std::optional<Ratio> {
    Values above;
    for (size_t i = 0; i < values.size(); ++i) {
      if (below[i] == 0) return std::nullopt;
      const auto divided_by = static_cast<double>(below[i]);
      const double whole = std::round(values[i] * divided_by);
      if (std::abs(whole) > most_int || whole / divided_by != values[i]) return std::nullopt;
      above.push_back(static_cast<int64_t>(whole));
    }
    const auto upper = formula(above, prefix), lower = formula(below, prefix);
    return upper && lower ? std::optional(Ratio{*upper, *lower}) : std::nullopt;
  };
  // Corners that are aligned: between the first and the last element.
  for (const int64_t less : {0, 1})
    for (const auto& [size, all] : known_) {
      Values below = size;
      for (int64_t& each : below) each -= less;
      if (auto found = over(below)) return found;
    }
  constexpr int64_t most_divisor = 512;
  for (int64_t divisor = 2; divisor <= most_divisor; ++divisor)
    if (auto found = over(Values(values.size(), divisor))) return found;
  return std::nullopt;
}

}  // namespace stitch
