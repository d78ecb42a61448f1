// The router: which action follows which outcome. Its table is in router.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "verify/verdict.h"

namespace stitch::agents {

enum class Outcome : uint8_t {
  // Of a step.
  better,       // passed, and the whole program is faster; or the first program that passed
  not_better,   // passed, but not faster
  not_written,  // the plan is invalid, or the Coder can't write it
  no_answer,    // a language model's answer can't be used
  declined,     // it sees nothing to gain: an answer, not a failure
  away,         // the language model can't be reached, or its budget is spent
  not_built,    // rejected by the screen, not compiled, or not loaded
  wrong,        // errors above the limit
  crashed,      // crashed, hung, out of memory
  misbehaved,   // another gate failed
  our_trouble,  // no verdict: the reference ran out of memory, a disk is full
  our_bug,      // no verdict: a bug in stitchcuda
  interrupted,  // Ctrl-C
  not_tried,    // the budget was spent before or during it
  left_out,     // predicted to be slower
  // Of the run, before the next step.
  ready,
  steps_done,
  budget_spent,
};
std::string_view name(Outcome outcome);

enum class Action : uint8_t {
  commit,                    // the program is the best so far
  revise,                    // the Coder tries again, with the Verifier's feedback
  drop,                      // the step; the best program so far stays
  roll_back,                 // the same for a program that passed
  retry_with_new_reference,  // the same program is judged again
  drop_with_new_reference,
  next_step,
  replan,
  ship,
};
std::string_view name(Action action);

// When a row applies.
enum class Condition : uint8_t {
  always,
  tries_left,     // of this step, and the Coder has a revision
  first_trouble,  // of this step, and budget is left
  needed,         // without this step there may be nothing to ship
  headroom,       // the best program is slower than the floor, and budget is left
  stalled,        // many consecutive steps without a gain since the last replanning
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
// The first row that applies. Every outcome has one, except left_out, which needs no action.
Action route(Outcome came_back, const Circumstances& circumstances);

// The outcome of a failed gate, or of a missing verdict.
Outcome outcome_of(const verifier::GateReport& failure);
Outcome outcome_of(const Error& no_verdict);

}  // namespace stitch::agents
