// What a run leaves, and what the next one makes of it: the built-in Planner and Coder, verdicts by a script.
#include "agents/remembering_planner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/recorded_run.h"
#include "agents/scripted.h"
#include "base/text.h"
#include "plan/document_names.h"
#include "store/database.h"
#include "store/memory.h"

namespace stitch::agents {
namespace {

using namespace scripted;

std::string model_of(int columns, const char* last = "softmax(%second) dim=1") {
  return format(R"(graph "remembered"
parameter %w : f32[1024,1024]
parameter %v : f32[{0},1024]
input %x : f32[512,1024]
%first = linear(%x, %w) : f32[512,1024]
%active = relu(%first) : f32[512,1024]
%second = linear(%active, %v) : f32[512,{0}]
%rows = {1} : f32[512,{0}]
output %rows
end
)",
                columns, last);
}

struct Heard final : EventSink {
  void on(const Event& event) override {
    if (auto* started = std::get_if<StepStarted>(&event)) steps.emplace_back(started->step);
    if (auto* refused = std::get_if<RefusedBefore>(&event)) not_again.emplace_back(refused->step);
  }
  std::vector<std::string> steps, not_again;
};

// By the step that is at hand.
class ByStep final : public Verifier {
 public:
  ByStep(std::map<std::string, Answer> answers, const Heard& heard)
      : answers_(std::move(answers)), heard_(heard) {}
  Result<verifier::Verdict> judge(const fs::path&, Judging, const std::function<bool()>&) override {
    auto found = answers_.find(heard_.steps.back());
    return found == answers_.end() ? passes(100)() : found->second();
  }
  Result<Feedback> explain(Outcome outcome, const verifier::Verdict&) override {
    return Feedback{.outcome = outcome, .report = {}, .suggestion = {}};
  }
  Result<void> renew() override { return {}; }
  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const fs::path&) override {
    return work_error("clock", "the script has no clock");
  }

 private:
  std::map<std::string, Answer> answers_;
  const Heard& heard_;
};

class Remembering : public testing::Test {
 protected:
  void SetUp() override {
    if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    auto made = ScratchFolder::create("stitch-remembering");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    open(model_of(1024));
  }
  void open(const std::string& model) {
    auto graph = parse_graph(model);
    ASSERT_TRUE(graph) << graph.error().text();
    task.graph = *std::move(graph);
    context.emplace(task.graph, gpu, Numerics::standard);
  }

  struct Ran {
    std::string steps, not_again, program;
    int attempts = 0;
    Ledger ledger;
  };
  // Measured unless it is emulated, where estimates decide.
  Ran run(std::map<std::string, Answer> answers, bool memory = true) {
    Heard heard;
    OptimizeOptions options;
    options.out = scratch->path() / format("out{}", runs++);
    options.device = device;
    options.strategy = strategy;
    options.tune = false;
    Brains brains;
    brains.planner = *make_planner({}, strategy, nullptr);
    brains.coder = builtin_coder();
    brains.verifier = std::make_unique<ByStep>(std::move(answers), heard);
    auto record = RecordedRun::open({.store = scratch->path() / "runs.db",
                                     .resume = {},
                                     .options = "{}",
                                     .version = version,
                                     .memory = memory},
                                    {.task = "remembered", .graph = plan::graph_hash(task.graph)}, &heard);
    EXPECT_TRUE(record) << record.error().text();
    (*record)->attach(*context, brains, options, Clock::now());
    auto optimized = optimize(task, *context, brains, options);
    EXPECT_TRUE(optimized) << optimized.error().text();
    (*record)->finish(optimized);
    Ran out{.steps = join(heard.steps, ", "),
            .not_again = join(heard.not_again, ", "),
            .program = *read_file(options.out / "program.cu"),
            .ledger = optimized ? optimized->ledger : Ledger{}};
    for (const LedgerEntry& entry : out.ledger.entries) out.attempts += entry.tries;
    return out;
  }

  Task task{.source = "remembered.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<plan::Context> context;
  std::optional<ScratchFolder> scratch;
  runner::Device device = runner::Device::cuda;
  Strategy strategy = Strategy::step_by_step;
  std::string version = "1";
  int runs = 0;
};

TEST_F(Remembering, TheBestProgramOfTheGraphIsTriedFirst) {
  const std::map<std::string, Answer> answers = {
      {"plain", passes(9)},         {"libraries", passes(5)},
      {"tensor cores", is_wrong()}, {"tensor cores in short sums", passes(6)},
      {"epilogues", passes(4)},     {"remembered", passes(4)}};
  const Ran first = run(answers);
  EXPECT_EQ(first.steps, "plain, libraries, tensor cores, tensor cores in short sums, epilogues");
  const Ran second = run(answers);
  EXPECT_EQ(second.steps, "remembered");
  EXPECT_EQ(second.not_again, "tensor cores, tensor cores in short sums");
  EXPECT_EQ(second.program, first.program);
  EXPECT_LE(2 * second.attempts, first.attempts);
  // Without memory, and by another version, which may do better: from the beginning.
  EXPECT_EQ(run(answers, false).steps, first.steps);
  version = "2";
  EXPECT_EQ(run(answers).steps, "remembered, tensor cores, tensor cores in short sums");
}

TEST_F(Remembering, OnTheEmulatedGpuWrongIsRefusedAndSlowIsNot) {
  device = runner::Device::emulated;
  // No times: estimates decide.
  auto right = [] { return verdict({.gate = "correctness", .outcome = verifier::Outcome::passed}); };
  const std::map<std::string, Answer> answers = {{"plain", right},      {"libraries", right},
                                                 {"loops", right},      {"epilogues", right},
                                                 {"remembered", right}, {"tensor cores", is_wrong()}};
  const Ran first = run(answers);
  const Ran second = run(answers);
  EXPECT_TRUE(second.steps.starts_with("remembered")) << second.steps;
  EXPECT_EQ(second.not_again, "tensor cores");
  EXPECT_EQ(second.program, first.program);
  EXPECT_LE(2 * second.attempts, first.attempts);
  // A real one has its own experience.
  device = runner::Device::cuda;
  EXPECT_TRUE(run({{"plain", passes(9)}}).steps.starts_with("plain"));
}

TEST_F(Remembering, AProgramThatFailsNowIsNotTriedAThirdTime) {
  std::map<std::string, Answer> answers = {{"plain", passes(9)}, {"libraries", passes(5)}};
  const Ran first = run(answers);
  answers["remembered"] = is_wrong();
  const Ran second = run(answers);
  EXPECT_TRUE(second.steps.starts_with("remembered, plain, libraries")) << second.steps;
  // What the second one shipped is the same plan.
  EXPECT_TRUE(run(answers).steps.starts_with("plain, libraries"));
}

TEST_F(Remembering, TheDirectPlannerTakesOneAttempt) {
  strategy = Strategy::direct;
  const std::map<std::string, Answer> answers = {
      {"all steps", is_wrong()}, {"without tensor cores", passes(3)}, {"remembered", passes(3)}};
  const Ran first = run(answers);
  EXPECT_TRUE(first.steps.starts_with("all steps, without tensor cores")) << first.steps;
  const Ran second = run(answers);
  EXPECT_EQ(second.steps, "remembered");
  EXPECT_EQ(second.program, first.program);
}

TEST_F(Remembering, WhatARegionOfTheKindRefusedIsLeftOutOfAnotherGraph) {
  // One region changes in "epilogues", so that it alone is to blame.
  run({{"plain", passes(9)}, {"libraries", passes(5)}, {"epilogues", is_wrong()}});
  auto store = store::RunStore::open(scratch->path() / "runs.db");
  auto observations = store::Memory(*store).all();
  ASSERT_TRUE(observations) << observations.error().text();
  int regions = 0;
  for (const store::Observation& one : *observations)
    regions += one.scope == store::Scope::region && one.outcome == "wrong" && one.among == 1;
  EXPECT_EQ(regions, 1);
  open(model_of(1040));  // of another size, within the power of two
  const Ran other = run({{"plain", passes(9)}, {"libraries", passes(5)}});
  EXPECT_TRUE(other.steps.starts_with("plain, libraries")) << other.steps;
  EXPECT_EQ(other.not_again, "epilogues, joined epilogues");
}

TEST_F(Remembering, MeasuredGainsCorrectPredictions) {
  auto predicted = [](const Ran& ran) {
    for (const LedgerEntry& entry : ran.ledger.entries)
      if (entry.step == "libraries") return entry.predicted_gain;
    return 0.0;
  };
  const double first = predicted(run({{"plain", passes(9)}}, false));
  ASSERT_GT(first, 0);
  // Half of what was predicted.
  open(model_of(1040));
  run({{"plain", passes(9)}, {"libraries", passes(9 - first / 2)}});
  open(model_of(1056));
  const double corrected = predicted(run({{"plain", passes(9)}}));
  const double uncorrected = predicted(run({{"plain", passes(9)}}, false));
  EXPECT_LT(corrected, 0.9 * uncorrected);
  EXPECT_GT(corrected, 0);
}

}  // namespace
}  // namespace stitch::agents
