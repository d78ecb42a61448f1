// The router: what came back, and what is done about it. Its table is in router.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "verify/verdict.h"

namespace stitch::agents {

enum class Outcome : uint8_t {
  // Of a step.
  better,       // right, and a call of the whole program got shorter; or the first program that is right
  not_better,   // right, and not shorter
  not_written,  // the plan does not hold, or the Coder can't write it
  no_answer,    // a language model answered, but with nothing that can be used
  away,         // there is no language model to ask: not reached, or its budget is spent
  not_built,    // screened, not compiled, not loaded
  wrong,        // results too far off
  crashed,      // crashed, hung, out of memory
  misbehaved,   // another gate said no
  our_trouble,  // no verdict: the reference ran out of memory, a disk is full
  our_bug,      // no verdict: something of ours threw
  interrupted,  // Ctrl-C
  not_tried,    // the budget was spent before it, or in the middle of it
  left_out,     // predicted to lose
  // Of the run, before the next step.
  ready,
  steps_done,
  target_met,
  budget_spent,
};
std::string_view name(Outcome outcome);

enum class Action : uint8_t {
  commit,                    // the program is the best so far
  revise,                    // the Coder tries again, with the Verifier's feedback
  drop,                      // the step; the best program so far stays
  roll_back,                 // the same of a program that was right
  retry_with_new_reference,  // the same program is judged again
  drop_with_new_reference,
  next_step,
  replan,
  ship,
};
std::string_view name(Action action);

// When a row counts.
enum class Condition : uint8_t {
  always,
  tries_left,     // of this step, and the Coder knows something else to try
  first_trouble,  // of this step, and there is budget left
  needed,         // without this step there may be nothing to ship
  headroom,       // the best program is slower than the floor, and there is budget left
  stalled,        // many steps in a row gained nothing, and the list is not new
};
std::string_view name(Condition condition);

struct Row {
  Outcome came_back;
  Condition when;
  Action next;
};
std::span<const Row> router_table();

struct Circumstances {
  bool tries_left = false, first_trouble = false, needed = false, headroom = false, stalled = false;
};
// The first row that fits. Every outcome has one, except left_out, which nobody waits for.
Action route(Outcome came_back, const Circumstances& circumstances);

// What a gate's report, or the lack of a verdict, is called here.
Outcome outcome_of(const verifier::GateReport& failure);
Outcome outcome_of(const Error& no_verdict);

}  // namespace stitch::agents
