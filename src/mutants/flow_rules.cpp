// Off-by-one mistakes in loops, guards and indices, and loops that skip every second step.
#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "mutants/mutation.h"

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

// State kept between calls: launches skipped in every second call, results or pointers of the first call
// reused.

namespace {

// `return stitch::launch(…);`, `kernel<<<…>>>(…);`
void skip_launch(MarkedSource& source, size_t i) {
  const bool launches = (source.is(i, "launch") || source.text(i).starts_with("enqueue")) &&
                        source.is_word(i) && (source.is(i + 1, "(") || source.is(i + 1, "<"));
  if (!launches && !source.is(i, "<<<")) return;
  const auto statement = source.statement_of(i);
  if (!statement) return;
  const std::string whole(source.between(statement->first, statement->last));
  if (whole.starts_with("StitchStatus") || whole.find('{') != whole.npos) return;
  const bool returns = source.is(statement->first, "return");
  const char* instead = returns ? "return STITCH_OK; " : "";
  source.add(Kind::state, statement->first, statement->last,
             format("static int calls_so_far = 0; if (calls_so_far++ % 2 == 1) {{ {}}} else {{ {} }}",
                    instead, whole));
  source.add(
      Kind::state, statement->first, statement->last,
      format("static bool done_before = false; if (done_before) {{ {}}} else {{ done_before = true; {} }}",
             instead, whole));
}

// StitchStatus enqueue_x(const float* x, …) {: keeps the first call's `x`.
void keep_pointer(MarkedSource& source, size_t i) {
  if (!source.is(i, "{") || i == 0 || !source.is(i - 1, ")")) return;
  const size_t open = source.partner(i - 1);
  if (open == 0 || !source.text(open - 1).starts_with("enqueue")) return;
  for (size_t at = open + 1; at + 3 < i; ++at)
    if (source.is(at, "const") && source.is_word(at + 1) && source.is(at + 2, "*") &&
        source.is_word(at + 3)) {
      source.add(Kind::state, i, i,
                 format("{{ static const {}* const first_{} = {}; {} = first_{};", source.text(at + 1),
                        source.text(at + 3), source.text(at + 3), source.text(at + 3), source.text(at + 3)));
      return;
    }
}

// A sum that isn't reset between calls or blocks.
void keep_sum(MarkedSource& source, size_t i) {
  if (!source.is(i, "float") || !source.is_word(i + 1) || !source.is(i + 2, "=") ||
      !(source.is(i + 3, "0.0f") || source.is(i + 3, "0")) || !source.is(i + 4, ";"))
    return;
  if (source.is(i - 1, "const") || !source.is_word(i + 1)) return;
  source.add(Kind::state, i, i + 4,
             format("static float kept_{} = 0.0f; float {} = kept_{}; kept_{} += 1.0f;", source.text(i + 1),
                    source.text(i + 1), source.text(i + 1), source.text(i + 1)));
}

}  // namespace

void add_state_rules(MarkedSource& source) {
  for (size_t i = 1; i < source.size(); ++i) {
    keep_pointer(source, i);
    if (!source.in_body(i)) continue;
    skip_launch(source, i);
    keep_sum(source, i);
  }
}

// Threads: barriers and waits left out, dimensions swapped.

namespace {

bool waits(std::string_view word) {
  const std::string lower = lower_case(word);
  // wmma's names end like that too, but are arithmetic.
  if (lower.find("mma") != lower.npos || lower.find("matrix") != lower.npos) return false;
  return lower.find("sync") != lower.npos || lower.find("wait") != lower.npos ||
         lower.find("fence") != lower.npos || lower.find("barrier") != lower.npos ||
         lower.find("commit") != lower.npos;
}

void leave_out_barrier(MarkedSource& source, size_t i) {
  if (!source.is_word(i) || !waits(source.text(i)) || !source.is(i + 1, "(")) return;
  const auto statement = source.statement_of(i);
  // The call is a statement, or all of a STITCH_OK_OR_RETURN(…).
  if (!statement || statement->last - i > 40) return;
  if (std::ranges::any_of(source.between(statement->first, statement->last), [](char c) { return c == '='; }))
    return;
  source.add(Kind::barrier, statement->first, statement->last, ";");
}

// Drops a tensor-core product.
void leave_out_product(MarkedSource& source, size_t i) {
  if (!source.is_word(i) || source.text(i).find("mma") == std::string_view::npos || !source.is(i + 1, "("))
    return;
  const auto statement = source.statement_of(i);
  if (statement && source.partner(i + 1) + 1 == statement->last)
    source.add(Kind::term, statement->first, statement->last, ";");
}

void exchange_dimension(MarkedSource& source, size_t i) {
  const auto is_place = [&](size_t at) {
    return source.is(at, "threadIdx") || source.is(at, "blockIdx") || source.is(at, "blockDim") ||
           source.is(at, "gridDim");
  };
  if (i < 2 || !source.is(i - 1, ".") || !is_place(i - 2)) return;
  if (source.is(i, "x")) source.add(Kind::axis, i, i, "y");
  if (source.is(i, "y") || source.is(i, "z")) source.add(Kind::axis, i, i, "x");
}

// In index arithmetic, quotient and remainder are two dimensions.
void exchange_quotient(MarkedSource& source, size_t i) {
  if (!source.is_binary(i) || !source.is_number(i + 1)) return;
  if (source.text(i + 1).find('.') != std::string_view::npos) return;
  if (source.is(i, "%")) source.add(Kind::axis, i, i, "/");
  if (source.is(i, "/")) source.add(Kind::axis, i, i, "%");
}

}  // namespace

void add_thread_rules(MarkedSource& source) {
  for (size_t i = 1; i < source.size(); ++i) {
    if (!source.in_body(i)) continue;
    leave_out_barrier(source, i);
    leave_out_product(source, i);
    exchange_dimension(source, i);
    exchange_quotient(source, i);
  }
}

}  // namespace stitch::mutants
