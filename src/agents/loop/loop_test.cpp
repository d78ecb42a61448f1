#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "agents/loop/alternatives.h"
#include "agents/loop/measured_gain.h"
#include "agents/loop/router.h"
#include "base/file.h"
#include "base/testdata/must.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "gpu/gpu_spec.h"
#include "graph/text.h"
#include "import/task.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

const char* two_layers = R"(graph "two layers"
parameter %v : f32[256,256]
parameter %w : f32[256,256]
input %x : f32[64,256]
%a = linear(%x, %v) : f32[64,256]
%b = softmax(%a) dim=1 : f32[64,256]
%c = linear(%b, %w) : f32[64,256]
output %c
end
)";

LedgerEntry entry_with(Outcome outcome, Json evidence, std::string code = "wrong") {
  return {.outcome = outcome,
          .report = verifier::GateReport{.gate = "correctness",
                                         .code = std::move(code),
                                         .evidence = std::make_shared<const Json>(std::move(evidence))}};
}

}  // namespace

TEST(PartOfStep, KnowsWhomTheVerifierBlames) {
  EXPECT_EQ(wrong_region_of({}), "");
  EXPECT_EQ(wrong_region_of(entry_with(Outcome::wrong, {{"wrong_region", "fc1"}})), "fc1");
  EXPECT_EQ(wrong_region_of(entry_with(Outcome::wrong, Json::object())), "");
  EXPECT_EQ(wrong_region_of(entry_with(Outcome::wrong, {{"regions", {{{"region", "fc2"}}}}}, "region_wrong")),
            "fc2");
  EXPECT_EQ(wrong_region_of(entry_with(Outcome::better, {{"wrong_region", "fc1"}})), "");
}

TEST(PartOfStep, TakesAStepForTheOtherRegions) {
  const Graph graph = *parse_graph(two_layers);
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  const plan::Plan before = *plan::first_plan(context, code::catalogue());
  const plan::Plan after = *plan::all_steps()[0].apply(context, before, code::catalogue());
  const std::string wrong = after.regions.back().name;
  auto part = without_region(graph, before, after, wrong);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->regions.front().technique, after.regions.front().technique);
  EXPECT_EQ(part->regions.back().technique, before.regions.back().technique);
  EXPECT_NE(before.regions.back().technique, after.regions.back().technique);
  EXPECT_FALSE(without_region(graph, before, after, "nobody"));
  // All that is left of the step is the region itself.
  EXPECT_FALSE(without_region(graph, *part, after, wrong));
}

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

using Kind = TimeAccount::Kind;

TEST(TimeSpent, CountsWhatCameSince) {
  TimeAccount::add(Kind::phase, "a test's import", 5);
  const TimeAccount::Entries before = TimeAccount::all();
  TimeAccount::add(Kind::phase, "a test's import", 2);
  TimeAccount::add(Kind::detail, "a test's unit", 3);
  TimeAccount::add(Kind::detail, "a test's unit", 4);
  const TimeAccount::Entries since = TimeAccount::since(before);
  EXPECT_DOUBLE_EQ(since.at({Kind::phase, "a test's import"}).seconds, 2);
  EXPECT_DOUBLE_EQ(since.at({Kind::detail, "a test's unit"}).seconds, 7);
  EXPECT_EQ(since.at({Kind::detail, "a test's unit"}).times, 2);
  EXPECT_EQ(since.size(), 2u);
}

TEST(TimeSpent, WaitingIsTheThreadsOwn) {
  const double before = TimeAccount::waited_here();
  std::thread([] { TimeAccount::add(Kind::waiting, "a test's turn", 9); }).join();
  EXPECT_DOUBLE_EQ(TimeAccount::waited_here(), before);
  TimeAccount::add(Kind::waiting, "a test's turn", 1);
  EXPECT_DOUBLE_EQ(TimeAccount::waited_here(), before + 1);
}

TEST(TimeSpent, APhaseInsideAnotherIsCountedOnce) {
  const TimeAccount::Entries before = TimeAccount::all();
  {
    const SpentOn outer("a test's outer phase", Kind::phase);
    const SpentOn inner("a test's inner phase", Kind::phase);
    TimeAccount::add(Kind::phase, "a test's gate", 100);
  }
  const TimeAccount::Entries since = TimeAccount::since(before);
  double sum = 0;
  for (const auto& [key, entry] : since) sum += entry.seconds;
  EXPECT_DOUBLE_EQ(since.at({Kind::phase, "a test's gate"}).seconds, 100);
  EXPECT_LT(since.at({Kind::phase, "a test's inner phase"}).seconds, 0);  // 100 s of it were the gate's
  EXPECT_NEAR(since.at({Kind::phase, "a test's outer phase"}).seconds, 0, 1);
  EXPECT_NEAR(sum, 0, 1);  // the clock's, whatever was claimed inside
}

TEST(TimeSpent, PhasesAddUpToTheWhole) {
  const Json spent = time_spent({{{Kind::phase, "import"}, {5, 1}},
                                 {{Kind::phase, "plan"}, {0.001, 1}},
                                 {{Kind::waiting, "to have the GPU alone"}, {2, 3}},
                                 {{Kind::detail, "compile a unit"}, {8, 4}}},
                                10);
  double sum = 0;
  for (const auto& [name, seconds] : spent.at("phases").items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, 10, 0.01);
  EXPECT_FALSE(spent.at("phases").contains("plan"));  // too short to tell
  EXPECT_EQ(spent.at("details").at("compile a unit").at("times"), 4);
  EXPECT_EQ(time_text(spent), "import 5 s, other 5 s; 2 s waiting for others on the GPU");
  EXPECT_EQ(time_text(Json::object()), "");
}

// The whole plan must be no slower, by the same estimates, than steps that are taken one at a time where each
// gains. Every fourth example, all with STITCHCUDA_ALL_EXAMPLES=1.

namespace {

std::vector<fs::path> examples() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(STITCH_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".py") out.push_back(entry.path());
  std::ranges::sort(out);
  if (std::getenv("STITCHCUDA_ALL_EXAMPLES")) return out;
  std::vector<fs::path> some;  // importing takes its time
  for (size_t i = 0; i < out.size(); i += 4) some.push_back(out[i]);
  return some;
}

TEST(WholePlan, IsNeverSlowerThanStepsThatEachGain) {
  auto exporter = must(Exporter::start(""));
  const GpuSpec gpu = *find_gpu("H200");
  auto all = [](const plan::StepRule&) { return true; };
  int every_step_loses = 0;
  for (const fs::path& example : examples()) {
    auto task = open_task(exporter, example, {.weights = false, .limits = code::limits_on(gpu)});
    ASSERT_TRUE(task) << example << ": " << task.error().text();
    for (Numerics numerics : {Numerics::strict, Numerics::standard, Numerics::tf32, Numerics::half}) {
      SCOPED_TRACE(format("{} {}", example.stem().string(), name(numerics)));
      const plan::Context context((*task)->graph, gpu, numerics);
      auto whole = plan::best_plan_of_steps(context, code::catalogue(), all);
      auto stepwise = plan::make_plan(context, code::catalogue());
      ASSERT_TRUE(whole && stepwise);
      const double stepwise_seconds = plan::estimate(context, *stepwise);
      EXPECT_LE(whole->seconds, stepwise_seconds);
      EXPECT_EQ(whole->seconds, plan::estimate(context, whole->plan));
      for (const plan::Step& step : whole->left_out)
        EXPECT_TRUE(std::ranges::none_of(whole->plan.steps, [&](const plan::Step& each) {
          return each.title == step.title;
        })) << step.title;
      auto every = plan::plan_of_steps(context, code::catalogue(), all);
      ASSERT_TRUE(every);
      every_step_loses += plan::estimate(context, *every) > stepwise_seconds;
    }
  }
  if (std::getenv("STITCHCUDA_ALL_EXAMPLES")) {
    EXPECT_GT(every_step_loses, 0) << "there is nothing here to be slower than";
  }
}

}  // namespace

}  // namespace stitch::agents
