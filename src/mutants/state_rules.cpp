// State kept between calls: launches skipped in every second call, results or pointers of the first call
// reused.
#include "base/text.h"
#include "mutants/marked_source.h"

namespace stitch::mutants {

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

}  // namespace stitch::mutants
