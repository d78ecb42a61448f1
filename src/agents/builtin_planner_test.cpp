// Which steps the built-in Planner proposes, by what became of the ones before.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/brains.h"
#include "agents/measured_gain.h"
#include "base/text.h"
#include "graph/text.h"
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
    auto graph = parse_graph(model);
    ASSERT_TRUE(graph) << graph.error().text();
    task.graph = *std::move(graph);
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

TEST_F(BuiltinPlanner, StartsPlainAndBuildsOnWhatWasKept) {
  auto planner = step_by_step_planner();
  auto plain = next(*planner);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->step, "plain");
  EXPECT_TRUE(plain->needed);
  came_back(*plain, Outcome::better);
  auto libraries = next(*planner);
  ASSERT_TRUE(libraries);
  EXPECT_EQ(libraries->step, "libraries");
  EXPECT_LT(libraries->predicted_seconds, plain->predicted_seconds);
  came_back(*libraries, Outcome::crashed);
  // On top of the plain plan, since the last step was dropped: there are no products to split.
  auto after = next(*planner);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->plan.regions.size() < plain->plan.regions.size(), true) << after->step;
}

TEST_F(BuiltinPlanner, DropsTheLastStepThatChangesResultsAfterWrongOnes) {
  auto planner = direct_planner(false);
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->step, "all steps");
  EXPECT_EQ(whole->judging, Judging::as_shipped);
  ASSERT_NE(steps_of(whole->plan).find("tensor cores"), std::string::npos) << steps_of(whole->plan);
  came_back(*whole, Outcome::wrong);
  auto second = next(*planner);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->step.starts_with("without tensor cores")) << second->step;
}

TEST_F(BuiltinPlanner, DropsTheLastStepAfterACrash) {
  auto planner = direct_planner(false);
  auto whole = next(*planner);
  ASSERT_TRUE(whole);
  came_back(*whole, Outcome::crashed);
  auto second = next(*planner);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->step, "without " + whole->plan.steps.back().title);
}

TEST_F(BuiltinPlanner, ProposesExactStepsAndThenThePlainProgramWhenTimeIsUp) {
  auto planner = direct_planner(false);
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
  auto last = next(*planner, 0);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->step, "plain");
  EXPECT_EQ(steps_of(last->plan), "");
  EXPECT_TRUE(last->needed);
  came_back(*last, Outcome::wrong);
  EXPECT_FALSE(next(*planner, 0));
}

TEST_F(BuiltinPlanner, AsksWhetherTheProgramIsBetterWithoutAStep) {
  for (bool first : {false, true}) {
    plan.reset();
    best.reset();
    auto planner = direct_planner(first);
    auto whole = next(*planner);
    ASSERT_TRUE(whole);
    came_back(*whole, Outcome::better);
    EXPECT_FALSE(next(*planner));  // its list is done
    const Situation now{.task = task, .context = *context, .ledger = ledger, .best = &*best, .plan = &*plan};
    auto more = planner->replan(now);
    ASSERT_TRUE(more);
    EXPECT_EQ(*more, !first);
    if (first) continue;
    auto without = next(*planner);
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->step.starts_with("without ")) << without->step;
    EXPECT_LT(without->budget_share, 1);
    EXPECT_FALSE(without->needed);
  }
}

// What the plain program was measured to take says more of a step than two estimates do.
TEST_F(BuiltinPlanner, PredictsGainsFromWhatWasMeasured) {
  auto planner = step_by_step_planner();
  auto plain = next(*planner);
  ASSERT_TRUE(plain);
  came_back(*plain, Outcome::better);
  Json times = Json::array();
  double products = 0, all = 0;
  for (const plan::Region& region : plain->plan.regions) {
    const bool product = region.technique->kind() == plan::Kind::product;
    const double microseconds = product ? 4000 : 30;
    times.push_back({{"name", region.name}, {"nanoseconds", 1000 * microseconds}});
    (product ? products : all) += microseconds * 1e-6;
  }
  all += products;
  best->seconds = all;
  EXPECT_FALSE(predicted_gain(*context, *best, plain->plan)) << "nothing was measured";
  best->verdict.gates.push_back({.gate = "profile",
                                 .id = verifier::GateId::profile,
                                 .outcome = verifier::Outcome::passed,
                                 .evidence = std::make_shared<const Json>(Json{{"region_times", times}})});
  EXPECT_NEAR(*predicted_gain(*context, *best, plain->plan), 0, 1e-12);
  auto libraries = next(*planner);
  ASSERT_TRUE(libraries);
  ASSERT_TRUE(libraries->predicted_gain);
  EXPECT_LT(*libraries->predicted_gain, products);
  EXPECT_GT(*libraries->predicted_gain, 0.9 * products);
  // The clock saw twice as much as the kernels took: so will it of what is saved.
  best->seconds = 2 * all;
  EXPECT_NEAR(*predicted_gain(*context, *best, libraries->plan), 2 * *libraries->predicted_gain,
              0.01 * products);
}
}  // namespace
}  // namespace stitch::agents
