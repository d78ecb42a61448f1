#include "agents/loop/router.h"

#include <array>

#include "base/error_codes.h"

namespace stitch::agents {

namespace {

constexpr std::array rows = {
    // of a step: what came back, if, what is next
    Row{Outcome::better, Condition::always, Action::commit},
    Row{Outcome::not_better, Condition::tries_left, Action::revise},
    Row{Outcome::not_better, Condition::always, Action::roll_back},
    Row{Outcome::not_written, Condition::always, Action::drop},
    Row{Outcome::no_answer, Condition::tries_left, Action::revise},
    Row{Outcome::no_answer, Condition::always, Action::drop},
    Row{Outcome::declined, Condition::always, Action::drop},
    Row{Outcome::away, Condition::always, Action::drop},
    Row{Outcome::not_built, Condition::tries_left, Action::revise},
    Row{Outcome::not_built, Condition::always, Action::drop},
    Row{Outcome::wrong, Condition::tries_left, Action::revise},
    Row{Outcome::wrong, Condition::always, Action::drop},
    Row{Outcome::crashed, Condition::tries_left, Action::revise},
    Row{Outcome::crashed, Condition::always, Action::drop},
    Row{Outcome::misbehaved, Condition::tries_left, Action::revise},
    Row{Outcome::misbehaved, Condition::always, Action::drop},
    Row{Outcome::our_trouble, Condition::first_trouble, Action::retry_with_new_reference},
    Row{Outcome::our_trouble, Condition::always, Action::drop_with_new_reference},
    Row{Outcome::our_bug, Condition::always, Action::drop},
    Row{Outcome::not_tried, Condition::always, Action::drop},
    // of the run, before the next step
    Row{Outcome::interrupted, Condition::always, Action::ship},
    Row{Outcome::budget_spent, Condition::needed, Action::next_step},
    Row{Outcome::budget_spent, Condition::always, Action::ship},
    Row{Outcome::steps_done, Condition::headroom, Action::replan},
    Row{Outcome::steps_done, Condition::always, Action::ship},
    Row{Outcome::ready, Condition::stalled, Action::replan},
    Row{Outcome::ready, Condition::always, Action::next_step},
};

bool holds(Condition condition, const Circumstances& circumstances) {
  switch (condition) {
    case Condition::always: return true;
    case Condition::tries_left: return circumstances.tries_left;
    case Condition::first_trouble: return circumstances.first_trouble;
    case Condition::needed: return circumstances.needed;
    case Condition::headroom: return circumstances.headroom;
    case Condition::stalled: return circumstances.stalled;
  }
  return false;
}

}  // namespace

std::span<const Row> router_table() { return rows; }

Action route(Outcome came_back, const Circumstances& circumstances) {
  for (const Row& row : rows)
    if (row.came_back == came_back && holds(row.when, circumstances)) return row.next;
  throw Bug("a step that was left out has no next action");
}

Outcome outcome_of(const verifier::GateReport& failure) {
  switch (failure.fault) {
    case verifier::Fault::not_built: return Outcome::not_built;
    case verifier::Fault::wrong: return Outcome::wrong;
    case verifier::Fault::crashed: return Outcome::crashed;
    case verifier::Fault::none:
    case verifier::Fault::misbehaved: break;
  }
  return Outcome::misbehaved;
}

Outcome outcome_of(const Error& no_verdict) {
  if (no_verdict.code == error_code::stopped) return Outcome::interrupted;
  if (no_verdict.code == error_code::bug) return Outcome::our_bug;
  if (no_verdict.code == "llm_answer") return Outcome::no_answer;
  if (no_verdict.code == "llm_declined") return Outcome::declined;
  if (no_verdict.code.starts_with("llm_")) return Outcome::away;
  return no_verdict.blame == Error::Blame::work ? Outcome::our_trouble : Outcome::not_written;
}

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 18> names = {
      "better",      "not better", "not written", "no answer",  "declined",    "away",
      "not built",   "wrong",      "crashed",     "misbehaved", "our trouble", "our bug",
      "interrupted", "not tried",  "left out",    "ready",      "steps done",  "budget spent"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name(Action action) {
  constexpr std::array<std::string_view, 9> names = {
      "commit",    "revise", "drop", "roll back", "retry with a new reference", "drop, with a new reference",
      "next step", "replan", "ship"};
  return names[static_cast<size_t>(action)];
}

std::string_view name(Condition condition) {
  constexpr std::array<std::string_view, 6> names = {"always", "tries left", "first trouble",
                                                     "needed", "headroom",   "stalled"};
  return names[static_cast<size_t>(condition)];
}

}  // namespace stitch::agents
