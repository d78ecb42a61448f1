// The loop with brains that follow a script: what is kept, what is rolled back, what ships.
#include "agents/optimize.h"

#include <gtest/gtest.h>

#include <thread>

#include "agents/brains.h"
#include "agents/llm/scripted.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "plan/document/document.h"
#include "plan/precision/error_budget.h"

namespace stitch::agents {
namespace {

using namespace scripted;
using verifier::GateId;

class TheLoop : public testing::Test {
 protected:
  void SetUp() override {
    task.graph = tiny_graph();
    scratch.emplace(must(ScratchFolder::create("stitch-loop")));
    options.out = scratch->path() / "out";
    context.emplace(task.graph, gpu, Numerics::standard);
  }

  Result<Optimized> run(std::vector<std::string> steps, std::deque<Answer> answers) {
    auto own_planner = std::make_unique<ScriptedPlanner>(std::move(steps));
    auto own_verifier = std::make_unique<ScriptedVerifier>(std::move(answers));
    own_planner->new_steps = new_steps;
    planner = own_planner.get();
    verifier = own_verifier.get();
    brains.planner = std::move(own_planner);
    brains.verifier = std::move(own_verifier);
    if (!brains.coder) {
      auto own_coder = std::make_unique<ScriptedCoder>();
      own_coder->throws_at = throws_at;
      own_coder->revisions = revisions;
      coder = own_coder.get();
      brains.coder = std::move(own_coder);
    }
    return optimize(task, *context, brains, options);
  }

  // Who signed what lies in the out folder.
  std::string shipped() const {
    auto text = read_file(options.out / "program.cu");
    if (!text) return text.error().text();
    return trim(text->substr(text->rfind("// ") + 3));
  }

  Task task{.source = "tiny.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<plan::Context> context;
  OptimizeOptions options;
  std::optional<ScratchFolder> scratch;
  Brains brains;
  ScriptedPlanner* planner = nullptr;
  ScriptedVerifier* verifier = nullptr;
  ScriptedCoder* coder = nullptr;
  std::vector<std::string> new_steps;
  std::string throws_at;
  int revisions = 0;
};

TEST_F(TheLoop, KeepsWhatIsBetterAndRollsTheRestBack) {
  auto run =
      must(this->run({"plain", "a", "b", "c"}, {passes(4), passes(3), passes(5), passes(2), passes(2.5)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better, b not better, c better");
  EXPECT_EQ(shipped(), "c 1");
  EXPECT_EQ(run.seconds_a_call, 2.5);  // as what shipped was judged
  EXPECT_EQ(verifier->asked.back(), Judging::as_shipped);
  EXPECT_EQ(verifier->programs.back().filename(), "shipped");  // the user's folder is written once
  const LedgerEntry& rolled_back = run.ledger.entries[2];
  EXPECT_EQ(rolled_back.before, 3);
  EXPECT_EQ(rolled_back.after, 5);
  EXPECT_EQ(reason(rolled_back), "not faster");
  EXPECT_NEAR(run.ledger.entries[3].predicted_gain, 1.0 / 2 - 1.0 / 4, 1e-12);  // over the best, not over b
}

TEST_F(TheLoop, KeepsTheReportOfTheGateThatSaidNo) {
  auto run = must(this->run({"plain", "a"}, {passes(4), is_wrong(), passes(4)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a wrong");
  EXPECT_EQ(shipped(), "plain 1");
  const Json entry = to_json(run.ledger.entries[1]);
  EXPECT_EQ(entry.at("kept"), false);
  EXPECT_EQ(entry.at("reason"), "correctness: as the script says");
  EXPECT_EQ(entry.at("gate").at("fault"), "wrong");
  EXPECT_EQ(entry.at("gate").at("evidence").at("seen"), "wrong");
}

// The built-in Planner, and every plan it proposed.
class Watched final : public Planner {
 public:
  Result<std::optional<Proposal>> propose(const Situation& now) override {
    auto out = planner_->propose(now);
    if (out && *out) proposals.push_back(**out);
    return out;
  }
  Result<bool> replan(const Situation& now) override { return planner_->replan(now); }
  std::vector<plan::Step> remaining(const Situation& now) override { return planner_->remaining(now); }

  std::vector<Proposal> proposals;

 private:
  std::unique_ptr<Planner> planner_ = best_first_planner();
};

Answer is_wrong_by(double times) {
  return [=]() -> Result<verifier::Verdict> {
    STITCH_TRY(verifier::Verdict out, is_wrong()());
    const Json output = {{"passed", false}, {"relative_error", times * 1e-5}, {"budget", 1e-5}};
    out.gates[0].evidence = std::make_shared<const Json>(Json{{"trials", {{{"outputs", {output}}}}}});
    return out;
  };
}

// Every value's rounding to fp16 and bf16 takes so much of the budget, and a common factor.
plan::MeasuredErrors even_errors(const Graph& graph, double f16, double scale) {
  plan::MeasuredErrors out{
      .kinds = 4, .groups = {"output_0"}, .pytorch = {0.25}, .values = {}, .products = {}};
  for (const Value& value : graph.values)
    out.values[value.name] = {.groups = {{f16, f16, 64 * f16, scale}}, .largest = 1};
  return out;
}

TEST_F(TheLoop, RoundsLessAfterAProgramThatWasFurtherOffThanExpected) {
  task.graph = must(parse_graph(R"(graph "deep"
parameter %w : f32[4096,4096]
input %x : f32[4096,4096]
%y = linear(%x, %w) : f32[4096,4096]
output %y
end
)"));
  plan::ReferenceFacts facts;
  facts.errors = std::make_shared<const plan::MeasuredErrors>(even_errors(task.graph, 1e-3, 1e10));
  context.emplace(task.graph, gpu, Numerics::standard, facts);
  for (double times : {1.4, 30.0}) {
    SCOPED_TRACE(times);
    auto watched = std::make_unique<Watched>();
    Watched& seen = *watched;
    options.overwrite = Overwrite::force;
    brains.planner = std::move(watched);
    brains.coder = std::make_unique<ScriptedCoder>();
    brains.verifier = std::make_unique<ScriptedVerifier>(
        std::deque<Answer>{is_wrong_by(times), passes(3), passes(4), passes(4), passes(4), passes(4)});
    (void)must(optimize(task, *context, brains, options));
    ASSERT_GE(seen.proposals.size(), 2u);
    const double expected = plan::errors_of(*context, seen.proposals[0].plan)->spent();
    const double next = plan::errors_of(*context, seen.proposals[1].plan)->spent();
    ASSERT_GT(expected, 0.1);
    // What is off by far more has another reason: the culprit is looked for.
    EXPECT_EQ(seen.proposals[1].step == "room to spare", times < 10) << seen.proposals[1].step;
    if (times < 10) {
      EXPECT_GT(next, 0);
      EXPECT_LT(next, expected / times);
    }
  }
}

TEST_F(TheLoop, TellsWhatEachStepsProgramIsBoundByAndWhatOfTheTimeIsItsOwn) {
  auto bound = [](double seconds, std::string by) -> Answer {
    return [=]() -> Result<verifier::Verdict> {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      STITCH_TRY(verifier::Verdict out, passes(seconds)());
      verifier::GateReport profile{.gate = "profile", .outcome = verifier::Outcome::passed};
      profile.evidence =
          std::make_shared<const Json>(Json{{"diagnosis", {{"bottleneck", by}, {"suggestion", "none"}}}});
      out.gates.push_back(std::move(profile));
      return out;
    };
  };
  auto made = must(run({"plain", "a"}, {bound(4e-3, "launch"), bound(2e-3, "memory"), passes(2e-3)}));
  EXPECT_EQ(made.ledger.entries.at(0).bottleneck, "launch");
  EXPECT_EQ(made.ledger.entries.at(1).bottleneck, "memory");
  EXPECT_NE(table(made.ledger, Terminal{}).find("bound by"), std::string::npos);
  EXPECT_GE(made.own_seconds, 0);
  EXPECT_LT(made.own_seconds, made.seconds - 0.05);  // the Verifier's time isn't the loop's
}

TEST_F(TheLoop, RepairsAStepWithTheFeedback) {
  revisions = 1;
  auto run = must(this->run({"plain", "a"}, {passes(4), is_wrong(), passes(3), passes(3)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better");
  EXPECT_EQ(run.ledger.entries[1].tries, 2);
  EXPECT_FALSE(run.ledger.entries[1].report);
  EXPECT_EQ(shipped(), "a 2");
  ASSERT_EQ(coder->feedback.size(), 1u);
  EXPECT_EQ(coder->feedback[0].outcome, Outcome::wrong);
  EXPECT_EQ(coder->feedback[0].report->code, "wrong");
}

TEST_F(TheLoop, RevisesWhatIsNotFasterAndGivesUpAfterAFewTries) {
  revisions = 100;
  auto run = must(
      this->run({"plain", "a", "b"}, {passes(4), passes(5), passes(5), is_wrong(), passes(3), passes(3)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a wrong, b better");
  EXPECT_EQ(run.ledger.entries[1].tries, options.tries);
  EXPECT_EQ(coder->feedback.size(), 2u);
  EXPECT_EQ(coder->feedback[0].outcome, Outcome::not_better);
}

TEST_F(TheLoop, StartsARevisionFromTheFastestTryThatWasRight) {
  revisions = 100;
  options.tries = 4;
  auto run =
      must(this->run({"plain", "a"}, {passes(4), is_wrong(), passes(5), passes(6), passes(3), passes(3)}));
  const LedgerEntry& entry = run.ledger.entries[1];
  ASSERT_EQ(entry.tree.size(), 4u);
  EXPECT_EQ(coder->bases, (std::vector<int>{0, 1, 1}));  // wrong for want of another; never the regression
  EXPECT_EQ(entry.tree[3].base, 1);
  EXPECT_EQ(entry.tree[2].seconds, 6);
  EXPECT_EQ(entry.tree[0].why, "correctness: as the script says");
  EXPECT_EQ(to_json(entry).at("tree").size(), 4u);
  EXPECT_TRUE(entry.kept());
}

TEST_F(TheLoop, AsksForANewListAfterManyStepsWithoutAGainAndStartsCountingAnew) {
  options.window = 2;
  new_steps = {"d", "e", "f"};
  auto run = must(this->run({"plain", "a", "b", "c"},
                            {passes(4), passes(5), passes(5), passes(3), passes(5), passes(5), passes(3)}));
  // c is of the old list; two more without a gain, and no other list is known.
  EXPECT_EQ(in_words(run.ledger),
            "plain better, a not better, b not better, d better, e not better, f not better");
}

TEST_F(TheLoop, DropsAStepThatTheBuiltInCoderCannotRepair) {
  brains.coder = builtin_coder();
  auto run = must(this->run({"plain", "a"}, {passes(4), is_wrong(), passes(4)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a wrong");
  EXPECT_EQ(run.ledger.entries[1].tries, 1);
}

TEST_F(TheLoop, ShipsTheSecondBestIfTheBestFailsAGateThatStepsDontHave) {
  auto run = must(this->run(
      {"plain", "a", "b"},
      {passes(4), passes(3), passes(2), fails(GateId::sanitizer, "sanitizer", "out_of_bounds"), passes(3)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better, b better, ship misbehaved");
  EXPECT_EQ(shipped(), "a 1");
  EXPECT_TRUE(run.verdict.passed());
  EXPECT_EQ(run.seconds_a_call, 3);
}

TEST_F(TheLoop, JudgesOnceWhatWasJudgedAsShipped) {
  brains.planner = best_first_planner();
  auto own = std::make_unique<ScriptedVerifier>(std::deque<Answer>{passes(4)});
  verifier = own.get();
  brains.verifier = std::move(own);
  brains.coder = builtin_coder();
  auto run = must(optimize(task, *context, brains, options));
  EXPECT_EQ(verifier->asked, std::vector{Judging::as_shipped});
}

// Memory is a constraint: a program that takes more than PyTorch gives way to a slower one that doesn't.
TEST_F(TheLoop, PrefersAProgramThatTakesNoMoreMemoryThanPyTorch) {
  auto takes = [](double seconds, double bytes) -> Answer {
    return [=] {
      verifier::Verdict out = *passes(seconds)();
      out.gates.push_back({.gate = "profile",
                           .id = GateId::profile,
                           .outcome = verifier::Outcome::passed,
                           .evidence = std::make_shared<const Json>(
                               Json{{"memory", {{"program_bytes", bytes}, {"pytorch_bytes", 100e6}}}})});
      return out;
    };
  };
  auto run = this->run({"plain", "a", "b", "c"}, {takes(4, 120e6), takes(5, 90e6), takes(3, 101e6),
                                                  takes(4.5, 100e6), takes(4.5, 100e6)});
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(in_words(run->ledger), "plain better, a better, b not better, c better");
  EXPECT_EQ(run->ledger.entries[0].note, "takes 120 MB on the GPU, PyTorch 100 MB");
  EXPECT_EQ(run->seconds_a_call, 4.5);
  options.memory = 1.5;
  run = this->run({"plain", "a"}, {takes(4, 120e6), takes(3, 149e6), takes(3, 149e6)});
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(in_words(run->ledger), "plain better, a better");
}

// The first program is finished whatever the budget says, and a deadline is one.
TEST_F(TheLoop, FinishesTheFirstProgramAndKeepsADeadline) {
  options.budget = std::chrono::seconds(0);
  auto run = this->run({"a", "b"}, {passes(4), passes(4)});
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_TRUE(run->budget_extended);
  EXPECT_EQ(in_words(run->ledger), "a better, b not tried");
  options.budget = std::chrono::seconds(60);
  options.deadline = std::chrono::seconds(1);
  run = optimize(task, *context, brains, options, Clock::now() - std::chrono::seconds(2));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, "stopped");
  EXPECT_EQ(run.error().message, "no program had passed when the deadline of 1 s was over");
}

TEST_F(TheLoop, JudgesAGivenPlanAsItStands) {
  auto plan = must(plan::make_plan(*context, code::catalogue()));
  for (bool right : {true, false}) {
    brains.planner = given_plan_planner(plan);
    auto own = std::make_unique<ScriptedVerifier>(std::deque<Answer>{right ? passes(4) : is_wrong()});
    verifier = own.get();
    brains.verifier = std::move(own);
    brains.coder = builtin_coder();
    auto run = optimize(task, *context, brains, options);
    ASSERT_EQ(static_cast<bool>(run), right);
    EXPECT_EQ(verifier->asked, std::vector{Judging::as_shipped});
    if (!right) {
      EXPECT_EQ(run.error().message, "no program passed the gates: correctness: as the script says");
      continue;
    }
    EXPECT_EQ(in_words(run->ledger), "plan better");
    EXPECT_EQ(run->ledger.entries[0].why, "as given");
    EXPECT_TRUE(run->judged_fully);
    EXPECT_TRUE(fs::exists(options.out / "program.cu"));
  }
}

// Of a graph folder: no Python, and nothing gets as far as a compiler.
TEST_F(TheLoop, RefusesAPlanThatDoesNotHoldBeforeAnythingIsJudged) {
  options.model = scratch->path() / "graph";
  options.gpu = gpu;
  options.plan_source = "plan.json";
  fs::create_directories(options.model);
  ASSERT_TRUE(write_file(options.model / "graph.txt", print_graph(task.graph)));
  auto plan = plan::make_plan(*context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const Json good = plan::to_json(*context, *plan);
  auto refused = [&](Json document) {
    options.plan = std::make_shared<const Json>(std::move(document));
    auto run = optimize(options);
    EXPECT_FALSE(run);
    if (run) return std::string();
    EXPECT_EQ(run.error().exit_code(), 2);
    EXPECT_TRUE(run.error().where.starts_with("plan.json")) << run.error().text();
    return run.error().message;
  };
  Json other = good;
  other["gpu"] = "another";
  EXPECT_EQ(refused(other), "the plan is for another, not for " + gpu.name);
  other = good;
  other["graph"] = "another";
  EXPECT_EQ(refused(other), "the plan is for another graph: the model has changed since, or is another one");
  other = good;
  other["regions"] = Json::array();
  EXPECT_NE(refused(other), "");
  options.numerics = Numerics::half;
  EXPECT_EQ(refused(good), "the plan's numerics class is default, not half");
  EXPECT_FALSE(fs::exists(options.out));
}

TEST_F(TheLoop, KeepsAFasterProgramThatIsThere) {
  ASSERT_TRUE(this->run({"plain", "a"}, {passes(4), passes(2), passes(2)}));
  brains = {};
  auto slower = must(this->run({"plain"}, {passes(4), passes(4)}));
  EXPECT_EQ(shipped(), "a 1");
  EXPECT_NE(slower.published.folder, options.out);
  EXPECT_TRUE(fs::exists(slower.published.folder / "program.cu"));
  options.overwrite = Overwrite::force;
  brains = {};
  ASSERT_TRUE(this->run({"plain"}, {passes(4), passes(4)}));
  EXPECT_EQ(shipped(), "plain 1");
}

TEST_F(TheLoop, NamesWhatItDidNotTryForWantOfBudget) {
  options.budget = std::chrono::seconds(0);
  auto run = must(this->run({"plain", "a", "b"}, {passes(4), passes(4)}));
  // Without the first one there would be nothing to ship.
  EXPECT_EQ(in_words(run.ledger), "plain better, a not tried, b not tried");
  EXPECT_EQ(cut_off(run.ledger), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(to_json(run.ledger.entries[2]).at("reason"), "the budget of 0 s was spent");
  EXPECT_EQ(to_json(run.ledger.entries[2]).at("fate"), "not tried");
  EXPECT_EQ(shipped(), "plain 1");
}

TEST_F(TheLoop, GivesAStepUpWhereTheBudgetEnds) {
  options.budget = std::chrono::seconds(1);
  auto too_long = []() -> Result<verifier::Verdict> {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    return work_error("stopped", "stopped on request");
  };
  auto run = must(this->run({"plain", "a", "b"}, {passes(4), too_long, passes(4)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a not tried, b not tried");
  EXPECT_FALSE(run.stopped);
  EXPECT_EQ(shipped(), "plain 1");
}

TEST_F(TheLoop, ShipsTheBestSoFarAsItWasJudgedWhenInterrupted) {
  bool stop = false;
  options.should_stop = [&] { return stop; };
  auto interrupted = [&]() -> Result<verifier::Verdict> {
    stop = true;
    return work_error("stopped", "stopped on request");
  };
  auto run = must(this->run({"plain", "a", "b"}, {passes(4), passes(3), interrupted}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better, b interrupted");
  EXPECT_TRUE(run.stopped);
  EXPECT_TRUE(run.verdict.passed());
  EXPECT_EQ(run.seconds_a_call, 3);
  EXPECT_EQ(shipped(), "a 1");
  EXPECT_EQ(verifier->renewed, 0);
}

TEST_F(TheLoop, LosesOneStepToABugOfOurs) {
  throws_at = "a";
  auto run = must(this->run({"plain", "a", "b"}, {passes(4), passes(3), passes(3)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a our bug, b better");
  EXPECT_TRUE(reason(run.ledger.entries[1]).starts_with("a bug in stitchcuda: the script throws"));
  EXPECT_EQ(shipped(), "b 1");
}

TEST_F(TheLoop, JudgesAStepAgainAfterTroubleOfOurOwn) {
  auto run = must(this->run({"plain", "a"}, {passes(4), errs("reference"), passes(3), passes(3)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better");
  EXPECT_EQ(verifier->renewed, 1);
  EXPECT_EQ(shipped(), "a 1");
}

TEST_F(TheLoop, DropsAStepThatTroubleComesBackWith) {
  auto run = must(this->run({"plain", "a", "b"},
                            {passes(4), errs("reference"), errs("memory"), passes(3), errs("disk")}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a our trouble, b better");
  EXPECT_EQ(verifier->renewed, 2);  // b has one of its own
  // Nothing judged it as what ships: the step's verdict stands, and says so.
  EXPECT_TRUE(run.verdict.passed());
  EXPECT_EQ(run.verdict.notes, std::vector<std::string>{"quick checks only: as the script says"});
}

TEST_F(TheLoop, TriesNothingElseOncePyTorchCannotRunTheModel) {
  auto run = this->run({"plain", "a", "b"}, {errs("forward"), errs("forward"), passes(3)});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "PyTorch itself can't run the model on this device: as the script says");
  EXPECT_EQ(verifier->asked.size(), 2u);  // once more with a new reference
}

TEST_F(TheLoop, IsAnErrorWithoutAnyProgram) {
  auto run = this->run({"plain", "a"}, {is_wrong(), fails(GateId::build, "build", "build_failed")});
  ASSERT_FALSE(run);
  EXPECT_EQ(
      run.error().message,
      "no program passed the gates: plain: correctness: as the script says; a: build: as the script says");
  EXPECT_FALSE(fs::exists(options.out));
}

TEST_F(TheLoop, AsksForANewPlanWhileThereIsHeadroom) {
  new_steps = {"b"};
  auto run = must(this->run({"plain", "a"}, {passes(4), passes(3), passes(2), passes(2)}));
  EXPECT_EQ(in_words(run.ledger), "plain better, a better, b better");
  EXPECT_EQ(planner->seen_by_replan, 3u);  // asked once more after b
  // Already at the floor: no new plan.
  brains = {};
  auto again = must(this->run({"plain", "a"}, {passes(1e-12), passes(1e-12), passes(1e-12)}));
  EXPECT_EQ(planner->seen_by_replan, 0u);
}

struct Heard final : EventSink {
  void on(const Event& event) override {
    if (auto* started = std::get_if<StepStarted>(&event)) words.push_back(format("start {}", started->step));
    if (auto* judged = std::get_if<AttemptJudged>(&event))
      words.push_back(format("{} {}", judged->attempt, name(judged->outcome)));
    if (auto* ended = std::get_if<StepEnded>(&event)) words.emplace_back(name(ended->action));
    if (std::holds_alternative<ReferenceRenewed>(event)) words.emplace_back("renewed");
    if (std::holds_alternative<Shipped>(event)) words.emplace_back("shipped");
    if (auto line = progress_text(event)) lines.push_back(*line);
  }
  std::vector<std::string> words, lines;
};

TEST_F(TheLoop, TellsWhatHappens) {
  Heard heard;
  options.events = &heard;
  revisions = 1;
  auto run = must(this->run({"plain", "a", "b"},
                            {passes(4), is_wrong(), passes(3), errs("reference"), passes(5), passes(3)}));
  EXPECT_EQ(join(heard.words, ", "),
            "start plain, 1 better, commit, start a, 1 wrong, 2 better, commit, start b, 1 our trouble, "
            "renewed, 2 not better, roll back, shipped");
  EXPECT_EQ(join(heard.lines, ", "),
            "plain, a, b, a new reference, no tuning: times on the emulated GPU mean nothing");
}

}  // namespace
}  // namespace stitch::agents
