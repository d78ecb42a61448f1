// Which steps the built-in Planner proposes, by what became of the ones before.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "agents/brains.h"
#include "agents/llm/scripted.h"
#include "agents/loop/measured_gain.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/steps.h"
#include "plan/technique.h"

namespace stitch::agents {
namespace {

constexpr const char* model = R"(graph "planned"
parameter %w : f32[1024,1024]
parameter %v : f32[1024,1024]
input %x : f32[512,1024]
%first = linear(%x, %w) : f32[512,1024]
%active = relu(%first) : f32[512,1024]
%second = linear(%active, %v) : f32[512,1024]
%rows = softmax(%second) dim=1 : f32[512,1024]
output %rows
end
)";

class BuiltinPlanner : public testing::Test {
 protected:
  void SetUp() override {
    task.graph = must(parse_graph(model));
    context.emplace(task.graph, gpu, Numerics::standard);
  }
  // The next proposal, after the last one had this outcome.
  std::optional<Proposal> next(Planner& planner, double seconds_left = 100) {
    const Situation now{.task = task,
                        .context = *context,
                        .ledger = ledger,
                        .best = best ? &*best : nullptr,
                        .plan = plan ? &*plan : nullptr,
                        .seconds_left = seconds_left};
    auto proposal = planner.propose(now);
    EXPECT_TRUE(proposal) << proposal.error().text();
    if (!proposal || !*proposal) return std::nullopt;
    plan = (*proposal)->plan;
    return *std::move(proposal);
  }
  void came_back(const Proposal& proposal, Outcome outcome) {
    ledger.entries.push_back({.step = proposal.step, .outcome = outcome});
    if (outcome == Outcome::better) {
      best.emplace();
      best->plan = proposal.plan;
    }
  }
  static std::string steps_of(const plan::Plan& plan) {
    std::vector<std::string> titles;
    for (const plan::Step& step : plan.steps) titles.push_back(step.title);
    return join(titles, ", ");
  }

  Task task{.source = "planned.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<plan::Context> context;
  Ledger ledger;
  std::optional<Program> best;
  std::optional<plan::Plan> plan;
};

TEST_F(BuiltinPlanner, BeginsWithTheWholePlanAndJudgesItAsShipped) {
  auto planner = best_first_planner();
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->step, "whole plan");
  EXPECT_EQ(whole->judging, Judging::as_shipped);
  EXPECT_TRUE(whole->needed);
  came_back(*whole, Outcome::better);
  EXPECT_FALSE(next(*planner)) << "nothing was measured that could be improved";
}

// Only the faulty step is missing in the end; each program on the way has half of the
// suspects.
TEST_F(BuiltinPlanner, HalvesAFailedPlanUntilTheCulpritIsFound) {
  for (const char* culprit : {"libraries", "tensor cores", "epilogues"}) {
    SCOPED_TRACE(culprit);
    plan.reset(), best.reset(), ledger.entries.clear();
    auto planner = best_first_planner();
    std::optional<Proposal> proposal = next(*planner);
    ASSERT_TRUE(proposal);
    ASSERT_NE(steps_of(proposal->plan).find(culprit), std::string::npos) << steps_of(proposal->plan);
    int programs = 0;
    while (proposal && ++programs < 10) {
      const bool fails = std::ranges::any_of(proposal->plan.steps,
                                             [&](const plan::Step& step) { return step.title == culprit; });
      EXPECT_EQ(proposal->needed, !best);
      came_back(*proposal, fails ? Outcome::crashed : Outcome::better);
      proposal = next(*planner);
    }
    EXPECT_FALSE(proposal) << "it ends";
    EXPECT_LE(programs, 5);
    ASSERT_TRUE(best);
    EXPECT_TRUE(std::ranges::none_of(best->plan.steps, [&](const plan::Step& step) {
      return step.title == culprit;
    })) << steps_of(best->plan);
    EXPECT_GE(best->plan.steps.size(), 1u) << steps_of(best->plan);
  }
}

TEST_F(BuiltinPlanner, SuspectsTheStepsThatChangeResultsAfterWrongOnes) {
  auto planner = best_first_planner();
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  came_back(*whole, Outcome::wrong);
  auto spare = next(*planner);
  ASSERT_TRUE(spare);
  EXPECT_EQ(spare->step, "room to spare");
  EXPECT_NE(steps_of(spare->plan).find("tensor cores in short sums"), std::string::npos)
      << steps_of(spare->plan);
  came_back(*spare, Outcome::wrong);
  auto half = next(*planner);
  ASSERT_TRUE(half);
  EXPECT_EQ(steps_of(half->plan).find("tensor cores"), std::string::npos) << steps_of(half->plan);
}

TEST_F(BuiltinPlanner, EndsWithThePlainProgramWhereEverythingFails) {
  auto planner = best_first_planner();
  std::optional<Proposal> proposal = next(*planner), last;
  int programs = 0;
  while (proposal && ++programs < 20) {
    came_back(*proposal, Outcome::crashed);
    last = std::exchange(proposal, next(*planner));
  }
  EXPECT_FALSE(proposal);
  EXPECT_LE(programs, 8);
  EXPECT_EQ(last->step, "plain");
  EXPECT_EQ(steps_of(last->plan), "");
}

TEST_F(BuiltinPlanner, ProposesExactStepsAndThenThePlainProgramWhenTimeIsUp) {
  auto planner = best_first_planner();
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  came_back(*whole, Outcome::wrong);
  auto exact = next(*planner, 0);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->step, "exact steps");
  EXPECT_NE(steps_of(exact->plan).find("libraries"), std::string::npos) << steps_of(exact->plan);
  EXPECT_EQ(steps_of(exact->plan).find("tensor cores"), std::string::npos) << steps_of(exact->plan);
  EXPECT_TRUE(exact->needed);
  came_back(*exact, Outcome::wrong);
  auto plain = next(*planner, 0);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->step, "plain");
  EXPECT_EQ(steps_of(plain->plan), "");
  EXPECT_TRUE(plain->needed);
  came_back(*plain, Outcome::wrong);
  EXPECT_FALSE(next(*planner, 0));
}

// Where regions were measured, other techniques are tried for several kinds at once, and those that won are
// kept.
TEST_F(BuiltinPlanner, KeepsTheTechniquesThatWonATrial) {
  ledger.measured = true;
  auto planner = best_first_planner();
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  came_back(*whole, Outcome::better);
  best->seconds = 0;
  std::vector<std::pair<std::string, double>> times;
  for (const plan::Region& region : whole->plan.regions) {
    times.emplace_back(region.name, 100'000);
    best->seconds += 1e-4;
  }
  best->verdict.gates.push_back(scripted::region_times(times));
  auto trial = next(*planner);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->step, "trial 1 of other techniques");
  EXPECT_FALSE(trial->needed);
  const std::vector<std::string> changed = plan::changed_regions(whole->plan, trial->plan);
  ASSERT_FALSE(changed.empty());
  // The first that changed wins, the others lose, and so does the whole.
  LedgerEntry entry{.step = trial->step, .outcome = Outcome::not_better};
  for (const plan::Region& region : trial->plan.regions)
    entry.region_seconds[region.name] = region.name == changed[0] ? 5e-5 : 3e-4;
  ledger.entries.push_back(std::move(entry));
  auto winners = next(*planner);
  ASSERT_TRUE(winners);
  EXPECT_EQ(winners->step, "1 technique that won");
  EXPECT_EQ(winners->judging, Judging::as_shipped);
  EXPECT_EQ(plan::changed_regions(whole->plan, winners->plan), std::vector{changed[0]});
}

// What a program was measured to take says more of a step than two estimates do.
TEST_F(BuiltinPlanner, PredictsGainsFromWhatWasMeasured) {
  auto first = must(plan::first_plan(*context, code::catalogue()));
  best.emplace();
  best->plan = first;
  std::vector<std::pair<std::string, double>> times;
  double products = 0, all = 0;
  for (const plan::Region& region : first.regions) {
    const bool product = region.technique->kind() == plan::Kind::product;
    const double microseconds = product ? 4000 : 30;
    times.emplace_back(region.name, 1000 * microseconds);
    (product ? products : all) += microseconds * 1e-6;
  }
  all += products;
  best->seconds = all;
  EXPECT_FALSE(predicted_gain(*context, *best, first)) << "nothing was measured";
  best->verdict.gates.push_back(scripted::region_times(times));
  EXPECT_NEAR(*predicted_gain(*context, *best, first), 0, 1e-12);
  auto libraries = plan::choose_techniques(*context, first, code::catalogue());
  ASSERT_TRUE(libraries);
  const std::optional<double> gain = predicted_gain(*context, *best, *libraries);
  ASSERT_TRUE(gain);
  EXPECT_LT(*gain, products);
  EXPECT_GT(*gain, 0.9 * products);
  // The clock saw twice as much as the kernels took: so will it of what is saved.
  best->seconds = 2 * all;
  EXPECT_NEAR(*predicted_gain(*context, *best, *libraries), 2 * *gain, 0.01 * products);
}
}  // namespace
}  // namespace stitch::agents
