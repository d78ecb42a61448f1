// Exchanges operators, drops terms, accumulates in fp16.
#include <array>
#include <charconv>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "mutants/mutation.h"

namespace stitch::mutants {

namespace {

struct Exchange {
  const char *from, *to;
};
constexpr Exchange operators[] = {
    {"+", "-"},   {"-", "+"},   {"*", "+"},   {"/", "*"},   {"&&", "||"}, {"||", "&&"},
    {"==", "!="}, {"!=", "=="}, {"+=", "-="}, {"-=", "+="}, {"*=", "+="}, {"/=", "*="},
};
constexpr Exchange words[] = {
    {"fmaxf", "fminf"},     {"fminf", "fmaxf"},     {"max", "min"},         {"min", "max"},
    {"maximum", "minimum"}, {"minimum", "maximum"}, {"Maximum", "Minimum"}, {"Minimum", "Maximum"},
    {"Add", "Maximum"},     {"expf", "exp2f"},      {"exp2f", "expf"},      {"rsqrtf", "sqrtf"},
    {"tanhf", "sinf"},      {"true", "false"},      {"false", "true"},      {"softmax", "relu"},
};

bool ends_operand(const MarkedSource& source, size_t i) {
  return source.is_word(i) || source.is_number(i) || source.is(i, ")") || source.is(i, "]");
}

void exchange(MarkedSource& source, size_t i) {
  if (source.is_word(i)) {
    for (const Exchange& each : words)
      if (source.is(i, each.from)) source.add(Kind::arithmetic, i, i, each.to);
    return;
  }
  if (!source.is_binary(i) || !ends_operand(source, i - 1)) return;
  for (const Exchange& each : operators)
    if (source.is(i, each.from)) source.add(Kind::arithmetic, i, i, each.to);
}

// ` + term`, up to the next term.
void leave_out_summand(MarkedSource& source, size_t i) {
  if (!(source.is(i, "+") || source.is(i, "-")) || !source.is_binary(i)) return;
  if (!ends_operand(source, i - 1)) return;
  size_t last = i + 1;
  for (size_t at = i + 1; at < source.size(); ++at) {
    if ((source.is(at, "(") || source.is(at, "[") || source.is(at, "{")) && source.partner(at) > at)
      at = source.partner(at);
    else if (source.is(at, ")") || source.is(at, "]") || source.is(at, "}") || source.is(at, ";") ||
             source.is(at, ",") || source.is(at, "?") || source.is(at, ":"))
      break;
    else if (source.is_binary(at) && !source.is_word(at) && !source.is_number(at) && !source.is(at, "*") &&
             !source.is(at, "/") && !source.is(at, "%"))
      break;
    last = at;
  }
  source.add(Kind::term, i, last, "");
}

// Deletes `x *= scale;`.
void leave_out_statement(MarkedSource& source, size_t i) {
  if (!source.is(i, "+=") && !source.is(i, "*=") && !source.is(i, "-=")) return;
  if (const auto statement = source.statement_of(i))
    source.add(Kind::term, statement->first, statement->last, ";");
}

// stitch::clamp(x, 0, 6) becomes (x).
void leave_out_function(MarkedSource& source, size_t i) {
  static const std::set<std::string_view> functions = {
      "clamp",      "relu",   "gelu", "silu",   "sigmoid", "tanh",  "tanhf", "expf",     "exp",
      "logf",       "sqrtf",  "erff", "rsqrtf", "fabsf",   "elu",   "mish",  "softplus", "hardswish",
      "leaky_relu", "log1pf", "sqrt", "erf",    "maximum", "fmaxf", "fminf"};
  if (!source.is_word(i) || !functions.contains(source.text(i)) || !source.is(i + 1, "(")) return;
  if (source.is_word(i - 1)) return;  // its declaration
  size_t first = i;
  while (first >= 2 && source.is(first - 1, "::")) first -= 2;
  size_t last = i + 2;
  const size_t close = source.partner(i + 1);
  for (size_t at = i + 2; at < close && !source.is(at, ","); ++at) {
    if (source.is(at, "(") || source.is(at, "[")) at = source.partner(at);
    last = at;
  }
  if (last < close)
    source.add(Kind::term, first, close, "(" + std::string(source.between(i + 2, last)) + ")");
}

// Variables declared as floats, among them the accumulators.
std::set<std::string_view> floats_of(const MarkedSource& source) {
  std::set<std::string_view> out;
  for (size_t i = 0; i + 1 < source.size(); ++i)
    if ((source.is(i, "float") || source.is(i, "Sum")) && source.is_word(i + 1))
      out.insert(source.text(i + 1));
  return out;
}

void round_sum(MarkedSource& source, size_t i, const std::set<std::string_view>& floats) {
  if (!source.is(i, "+=")) return;
  const auto statement = source.statement_of(i);
  if (!statement || !floats.contains(source.text(statement->first))) return;
  const std::string sum(source.between(statement->first, i - 1));
  source.add(Kind::accumulator, statement->first, statement->last,
             format("{} = __half2float(__float2half({} + ({})));", sum, sum,
                    source.between(i + 1, statement->last - 1)),
             "cuda_fp16.h");
}

}  // namespace

void add_arithmetic_rules(MarkedSource& source) {
  const std::set<std::string_view> floats = floats_of(source);
  for (size_t i = 1; i < source.size(); ++i) {
    if (!source.in_body(i)) continue;
    exchange(source, i);
    leave_out_summand(source, i);
    leave_out_statement(source, i);
    leave_out_function(source, i);
    round_sum(source, i, floats);
  }
}

// Numbers: constants, epsilons, strides, and sizes in kernel traits.

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
