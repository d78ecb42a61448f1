// Off-by-one mistakes in loops, guards and indices, and loops that skip every second step.
#include "base/text.h"
#include "mutants/marked_source.h"

namespace stitch::mutants {

namespace {

// for (init; condition; step): the two `;`.
struct For {
  size_t open, first, second, close;
};
std::optional<For> for_at(const MarkedSource& source, size_t i) {
  if (!source.is(i, "for") || !source.is(i + 1, "(")) return std::nullopt;
  For out{i + 1, 0, 0, source.partner(i + 1)};
  for (size_t at = out.open + 1; at < out.close; ++at) {
    if (source.is(at, "(") || source.is(at, "[") || source.is(at, "{")) at = source.partner(at);
    if (!source.is(at, ";")) continue;
    (out.first ? out.second : out.first) = at;
  }
  return out.second ? std::optional(out) : std::nullopt;
}

void change_for(MarkedSource& source, const For& loop) {
  for (size_t at = loop.open + 1; at < loop.first; ++at)
    if (source.is(at, "=") && source.is(at + 1, "0") && at + 2 <= loop.first)
      source.add(Kind::bound, at + 1, at + 1, "1");
  for (size_t at = loop.first + 1; at < loop.second; ++at) {
    if (!source.is_binary(at)) continue;
    if (source.is(at, "<")) {
      source.add(Kind::bound, at, at, "<=");
      source.add(Kind::tail, loop.second - 1, loop.second - 1,
                 std::string(source.text(loop.second - 1)) + " - 1");
    }
    if (source.is(at, ">")) source.add(Kind::bound, at, at, ">=");
  }
  const size_t step = loop.second + 1;
  if (step + 2 == loop.close && source.is(step, "++"))
    source.add(Kind::tile, step, step + 1, std::string(source.text(step + 1)) + " += 2");
  if (source.is(step + 1, "+=") && step + 2 < loop.close)
    source.add(Kind::tile, step + 2, loop.close - 1,
               "2 * (" + std::string(source.between(step + 2, loop.close - 1)) + ")");
}

// Guards: `if (row < rows)`, `const bool inside = row < rows`, `if (index >= size) return;`.
void change_guard(MarkedSource& source, size_t i) {
  if (!source.is_binary(i) || source.head_of(i, "for")) return;
  struct Swap {
    const char *from, *to;
  };
  for (const Swap& swap : {Swap{"<", "<="}, {">=", ">"}, {">", ">="}, {"<=", "<"}})
    if (source.is(i, swap.from)) source.add(Kind::bound, i, i, swap.to);
  const bool upper = source.is(i, "<") || source.is(i, ">=");
  if (upper && (source.is_number(i + 1) || source.is_word(i + 1)) && !source.is(i + 2, "::") &&
      !source.is(i + 2, "(") && !source.is(i + 2, "."))
    source.add(Kind::tail, i + 1, i + 1, std::string(source.text(i + 1)) + " - 1");
}

// x[e], but neither a lambda's capture nor the length of an array.
void change_subscript(MarkedSource& source, size_t i) {
  const size_t close = source.partner(i);
  if (i < 2 || close <= i + 1) return;
  if (!source.is_word(i - 1) && !source.is(i - 1, "]") && !source.is(i - 1, ")")) return;
  if (source.is_word(i - 1) && source.is_word(i - 2) && !source.is(i - 2, "return")) return;
  if (source.is(i + 1, "[") || source.is(i - 1, "operator")) return;
  source.add(Kind::index, i + 1, close - 1, std::string(source.between(i + 1, close - 1)) + " + 1");
}

// Index functions of traits: `static Index left(…) { return …; }`.
void change_index_function(MarkedSource& source, size_t i) {
  const auto body = source.enclosing(i);
  if (!body || *body == 0 || !source.is(*body - 1, ")")) return;
  const size_t open = source.partner(*body - 1);
  if (open < 2 || !source.is(open - 2, "Index")) return;
  const auto statement = source.statement_of(i);
  if (!statement || statement->last < i + 2) return;
  source.add(Kind::index, i + 1, statement->last - 1,
             std::string(source.between(i + 1, statement->last - 1)) + " + 1");
  // f(Index a, Index b, …): swaps the first two.
  if (source.is(open + 1, "Index") && source.is_word(open + 2) && source.is(open + 3, ",") &&
      source.is(open + 4, "Index") && source.is_word(open + 5))
    source.add(Kind::axis, open + 1, open + 5,
               format("Index {}, Index {}", source.text(open + 5), source.text(open + 2)));
}

// Thread and block counts: `spread(1344, …)`, `(n + b - 1) / b`.
void change_count(MarkedSource& source, size_t i) {
  if (source.is(i, "spread") && source.is(i + 1, "(") && source.is_number(i + 2))
    source.add(Kind::tail, i + 2, i + 2, std::string(source.text(i + 2)) + " - 1");
  if (source.is(i, "+") && source.is_binary(i) && source.is(i + 2, "-") && source.is(i + 3, "1") &&
      source.is(i + 4, ")") && source.is(i + 5, "/") && source.text(i + 1) == source.text(i + 6))
    source.add(Kind::tail, i, i + 3, "");
}

}  // namespace

void add_loop_rules(MarkedSource& source) {
  for (size_t i = 1; i < source.size(); ++i) {
    if (!source.in_body(i)) continue;
    if (auto loop = for_at(source, i)) change_for(source, *loop);
    change_guard(source, i);
    if (source.is(i, "[")) change_subscript(source, i);
    if (source.is(i, "return")) change_index_function(source, i);
    change_count(source, i);
  }
}

}  // namespace stitch::mutants
