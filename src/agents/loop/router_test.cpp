#include "agents/loop/router.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stitch::agents {
namespace {

// A row without a condition ends the search, so there is one for each outcome, and it comes last.
TEST(Router, HasAnAnswerToEveryOutcome) {
  for (auto outcome = Outcome::better; outcome <= Outcome::budget_spent;
       outcome = Outcome(static_cast<int>(outcome) + 1)) {
    std::vector<Condition> conditions;
    for (const Row& row : router_table())
      if (row.came_back == outcome) conditions.push_back(row.when);
    if (outcome == Outcome::left_out) {
      EXPECT_TRUE(conditions.empty());
      continue;
    }
    ASSERT_FALSE(conditions.empty()) << name(outcome);
    EXPECT_EQ(std::ranges::count(conditions, Condition::always), 1) << name(outcome);
    EXPECT_EQ(conditions.back(), Condition::always) << name(outcome);
  }
}

TEST(Router, RevisesWhileThereAreTriesLeft) {
  for (Outcome outcome : {Outcome::not_built, Outcome::wrong, Outcome::crashed, Outcome::misbehaved}) {
    EXPECT_EQ(route(outcome, {.tries_left = true}), Action::revise) << name(outcome);
    EXPECT_EQ(route(outcome, {}), Action::drop) << name(outcome);
  }
  EXPECT_EQ(route(Outcome::not_better, {}), Action::roll_back);
  EXPECT_EQ(route(Outcome::our_bug, {.tries_left = true}), Action::drop);
}

TEST(Router, BlamesNoStepForOurTrouble) {
  EXPECT_EQ(route(Outcome::our_trouble, {.first_trouble = true}), Action::retry_with_new_reference);
  EXPECT_EQ(route(Outcome::our_trouble, {}), Action::drop_with_new_reference);
}

TEST(Router, KnowsAFailureByItsGateAndKind) {
  using verifier::GateId;
  auto outcome = [](GateId gate, const char* code) {
    return outcome_of(verifier::GateReport{
        .gate = "correctness", .id = gate, .fault = verifier::fault_of(gate, code), .code = code});
  };
  EXPECT_EQ(outcome(GateId::screen, "screened"), Outcome::not_built);
  EXPECT_EQ(outcome(GateId::build, "build_failed"), Outcome::not_built);
  EXPECT_EQ(outcome(GateId::load, "crashed"), Outcome::crashed);
  EXPECT_EQ(outcome(GateId::correctness, "wrong"), Outcome::wrong);
  EXPECT_EQ(outcome(GateId::correctness, "hung"), Outcome::crashed);
  EXPECT_EQ(outcome(GateId::regions, "region_wrong"), Outcome::wrong);
  EXPECT_EQ(outcome(GateId::conduct, "inputs_changed"), Outcome::misbehaved);
  EXPECT_EQ(outcome_of(work_error("stopped", "")), Outcome::interrupted);
  EXPECT_EQ(outcome_of(work_error("bug", "")), Outcome::our_bug);
  EXPECT_EQ(outcome_of(work_error("reference", "")), Outcome::our_trouble);
  EXPECT_EQ(outcome_of(user_error("plan", "")), Outcome::not_written);
}

}  // namespace
}  // namespace stitch::agents
