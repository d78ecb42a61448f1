// Numbers: constants, epsilons, strides, and sizes in kernel traits.
#include <array>
#include <charconv>

#include "base/text.h"
#include "mutants/marked_source.h"

namespace stitch::mutants {

namespace {

bool is_floating_literal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0b")) return false;
  return text.find('.') != text.npos || text.find('e') != text.npos || text.ends_with('f');
}

std::optional<double> floating_value(std::string_view text) {
  while (!text.empty() && (text.back() == 'f' || text.back() == 'F')) text.remove_suffix(1);
  return parse_number(text);
}

// Plain decimals; numbers with a suffix or base are seldom sizes.
std::optional<int64_t> integer_value(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string written(double value, std::string_view like) {
  return number_text(value) + (like.ends_with('f') ? "f" : "");
}

void change_floating(MarkedSource& source, size_t i) {
  const auto value = floating_value(source.text(i));
  if (!value) return;
  constexpr double largest_epsilon = 1e-3, largest_number = 1e30;
  if (*value == 0) return source.add(Kind::constant, i, i, written(1, source.text(i)));
  if (*value <= largest_epsilon) {
    source.add(Kind::epsilon, i, i, written(*value * 100, source.text(i)));
    return source.add(Kind::epsilon, i, i, written(0, source.text(i)));
  }
  if (*value < largest_number) source.add(Kind::constant, i, i, written(*value * 1.01, source.text(i)));
}

bool is_factor(const MarkedSource& source, size_t i) {
  return (i > 0 && source.is(i - 1, "*") && source.is_binary(i - 1)) ||
         (source.is(i + 1, "*") && source.is_binary(i + 1));
}

// `static constexpr Index rows = 21, depth = 12;`
bool is_size_of_traits(const MarkedSource& source, size_t i) {
  constexpr std::array sizes = {"rows",  "columns", "depth",   "keys",   "queries",  "heads",  "batches",
                                "width", "height",  "length",  "steps",  "channels", "images", "taps",
                                "size",  "groups",  "filters", "inputs", "outputs",  "classes"};
  if (i < 2 || !source.is(i - 1, "=")) return false;
  for (const char* size : sizes)
    if (source.text(i - 2) == size || source.text(i - 2).ends_with(std::string("_") + size)) return true;
  return false;
}

bool is_template_argument(const MarkedSource& source, size_t i) {
  return i > 0 && (source.is(i - 1, "<") || source.is(i + 1, ">")) && !source.is_binary(i - 1);
}

bool is_array_length(const MarkedSource& source, size_t i) {
  return i >= 3 && source.is(i - 1, "[") && source.is(i + 1, "]") && source.is_word(i - 2) &&
         source.is_word(i - 3) && !source.is(i - 3, "return");
}

void change_integer(MarkedSource& source, size_t i) {
  const auto value = integer_value(source.text(i));
  if (!value || is_template_argument(source, i) || is_array_length(source, i)) return;
  if (source.head_of(i, "for")) return;  // loop_rules.cpp
  if (is_factor(source, i) && *value > 1) {
    source.add(Kind::stride, i, i, format("{}", *value + 1));
    return source.add(Kind::stride, i, i, format("{}", *value - 1));
  }
  if (is_size_of_traits(source, i)) return source.add(Kind::bound, i, i, format("{}", *value - 1));
  if (i > 0 && (source.is(i - 1, "<") || source.is(i - 1, ">="))) return;  // loop_rules.cpp
  if (source.is(i - 1, "%") || source.is(i - 1, "/"))
    return source.add(Kind::stride, i, i, format("{}", *value + 1));
  source.add(Kind::constant, i, i, format("{}", *value + 1));
}

}  // namespace

void add_number_rules(MarkedSource& source) {
  for (size_t i = 1; i < source.size(); ++i) {
    if (!source.is_number(i) || !source.in_body(i)) continue;
    if (is_floating_literal(source.text(i)))
      change_floating(source, i);
    else
      change_integer(source, i);
  }
}

}  // namespace stitch::mutants
