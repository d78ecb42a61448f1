// Threads: barriers and waits left out, dimensions swapped.
#include <algorithm>

#include "base/text.h"
#include "mutants/marked_source.h"

namespace stitch::mutants {

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
