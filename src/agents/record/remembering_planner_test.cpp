// What a run leaves, and what the next one makes of it: the built-in Planner and Coder, verdicts by a script.
#include "agents/record/remembering_planner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/llm/llm_session.h"
#include "agents/llm/scripted.h"
#include "agents/record/recorded_run.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/written.h"
#include "plan/document/document.h"
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
%scaled = tanh(%rows) : f32[512,{0}]
output %scaled
end
)",
                columns, last);
}

struct Heard final : EventSink {
  void on(const Event& event) override {
    if (auto* started = std::get_if<StepStarted>(&event)) steps.emplace_back(started->step);
    if (auto* refused = std::get_if<RefusedBefore>(&event)) not_again.emplace_back(refused->step);
    if (auto* notice = std::get_if<Notice>(&event)) notices.emplace_back(notice->text);
  }
  std::vector<std::string> steps, not_again, notices;
};

// Writes regions as a language model would, signed by its author.
class WritingCoder final : public Coder {
 public:
  explicit WritingCoder(std::string author) : author_(std::move(author)) {}
  Result<Draft> write(const Situation& now, const Proposal& step) override {
    plan::Plan plan = step.plan;
    for (const std::string& name : step.to_write) {
      STITCH_TRY(std::vector<code::RegionRequest> requests, code::requests_of(now.context, plan));
      for (const code::RegionRequest& request : requests)
        if (request.region.name == name) {
          STITCH_TRY(plan,
                     code::with_source(now.context, plan, name,
                                       {.function = code::required_name(request),
                                        .text = "// by " + author_ + "\n" + code::required_function(request) +
                                                " { return STITCH_OK; }\n",
                                        .author = author_}));
          break;
        }
    }
    STITCH_TRY(PackageContents contents, code::write_program(now.context, plan));
    return Draft{std::move(plan), std::move(contents), step.to_write.empty() ? "" : author_};
  }
  Result<std::optional<Draft>> revise(const Situation&, const Proposal&) override {
    return std::optional<Draft>();
  }
  std::string author() const override { return author_; }

 private:
  const std::string author_;
};

// By the step that is at hand.
class ByStep final : public JudgeAlone {
 public:
  ByStep(std::map<std::string, Answer> answers, const Heard& heard)
      : answers_(std::move(answers)), heard_(heard) {}
  Result<verifier::Verdict> judge(const fs::path&, Judging, const std::function<bool()>&) override {
    const std::string& step = heard_.steps.back();
    auto found = answers_.find(step);
    if (found == answers_.end()) found = answers_.find(step.substr(0, step.find(' ')) + " *");
    return found == answers_.end() ? passes(100)() : found->second();
  }

 private:
  std::map<std::string, Answer> answers_;
  const Heard& heard_;
};

class Remembering : public testing::Test {
 protected:
  void SetUp() override {
    if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    scratch.emplace(must(ScratchFolder::create("stitch-remembering")));
    if (const char* before = std::getenv("STITCHCUDA_STATE")) state_before = before;
    ::setenv("STITCHCUDA_STATE", (scratch->path() / "state").c_str(), 1);
    open(model_of(1024));
  }
  void TearDown() override {
    if (state_before.empty())
      ::unsetenv("STITCHCUDA_STATE");
    else
      ::setenv("STITCHCUDA_STATE", state_before.c_str(), 1);
  }
  void open(const std::string& model) {
    task.graph = must(parse_graph(model));
    context.emplace(task.graph, gpu, Numerics::standard);
  }

  struct Ran {
    std::string steps, not_again, notices, program;
    int attempts = 0;
    Ledger ledger;
  };
  // Measured unless it is emulated, where estimates decide.
  Ran run(std::map<std::string, Answer> answers, bool memory = true) {
    Heard heard;
    OptimizeOptions options;
    options.out = scratch->path() / format("out{}", runs++);
    options.device = device;
    options.tune = false;
    Brains brains;
    brains.planner = *make_planner({}, false, nullptr);
    brains.coder = builtin_coder();
    if (!coder.empty()) {
      brains.planner = writing_planner(std::move(brains.planner), 3);
      brains.coder = std::make_unique<WritingCoder>(coder);
    }
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
            .notices = join(heard.notices, ", "),
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
  std::string version = "1";
  std::string coder;  // the author of a model that writes three regions; empty: none
  std::string state_before;
  int runs = 0;
};

// Each program faster than the one before it.
Answer faster_and_faster() {
  return [seconds = std::make_shared<double>(4)] { return passes(*seconds *= 0.9)(); };
}
// Another model, whose last layers are those of model_of().
const char* const other_model = R"(graph "other"
parameter %w : f32[1024,2048]
parameter %v : f32[1024,1024]
input %x : f32[512,2048]
%first = linear(%x, %w) : f32[512,1024]
%active = relu(%first) : f32[512,1024]
%second = linear(%active, %v) : f32[512,1024]
%rows = softmax(%second) dim=1 : f32[512,1024]
%scaled = tanh(%rows) : f32[512,1024]
output %scaled
end
)";

// What one model wrote is tried in other graphs before another model is asked, and without any.
TEST_F(Remembering, WrittenKernelsAreFoundAgain) {
  coder = "llm:one/big";
  const Ran first = run({{"whole plan", passes(5)}, {"write *", faster_and_faster()}});
  EXPECT_NE(first.steps.find("write "), std::string::npos) << first.steps;
  open(other_model);
  coder = "llm:two/other";
  const Ran second = run({{"whole plan", passes(5)}, {"archived *", faster_and_faster()}});
  const size_t archived = second.steps.find("archived "), asked = second.steps.find("write ");
  ASSERT_NE(archived, std::string::npos) << second.steps;
  EXPECT_LT(archived, asked) << second.steps;
  bool kept = false;
  for (const LedgerEntry& entry : second.ledger.entries)
    kept |= entry.step.starts_with("archived ") && entry.kept() &&
            entry.why.find("llm:one/big") != std::string::npos;
  EXPECT_TRUE(kept) << second.steps;
  // The best program is remembered as it was written.
  coder.clear();
  const Ran third = run({{"remembered", passes(3)}});
  EXPECT_TRUE(third.steps.starts_with("remembered")) << third.steps;
  EXPECT_EQ(third.program, second.program);
  EXPECT_EQ(third.notices.find("ignored"), std::string::npos) << third.notices;
}

TEST_F(Remembering, KernelsOfAnotherVersionOrForgedOnesAreIgnoredByName) {
  coder = "llm:one/big";
  const std::map<std::string, Answer> answers = {{"whole plan", passes(5)}, {"write *", faster_and_faster()}};
  run(answers);
  coder.clear();
  open(other_model);
  version = "2";
  const Ran newer = run({{"whole plan", passes(5)}});
  EXPECT_EQ(newer.steps.find("archived "), std::string::npos) << newer.steps;
  EXPECT_NE(newer.notices.find("is ignored: it is of version 1, this is 2"), std::string::npos)
      << newer.notices;
  version = "1";
  std::string lines;
  {
    auto store = store::RunStore::open(scratch->path() / "runs.db");
    ASSERT_TRUE(store) << store.error().text();
    store::Memory memory(*store);
    ASSERT_TRUE(memory.write_lines([&](std::string_view line) { lines += std::string(line) + "\n"; }));
    ASSERT_TRUE(memory.forget());
    for (size_t at = lines.find("// by llm:one"); at != std::string::npos; at = lines.find("// by llm:one"))
      lines.replace(at, 13, "// by llm:two");
    must(memory.merge(lines));
  }
  const Ran forged = run({{"whole plan", passes(5)}});
  EXPECT_EQ(forged.steps.find("archived "), std::string::npos) << forged.steps;
  EXPECT_NE(forged.notices.find("its signature is not this installation's"), std::string::npos)
      << forged.notices;
}

// What one model wrote badly another may write well.
TEST_F(Remembering, RefusalsOfWrittenRegionsAreOfTheirAuthor) {
  const std::map<std::string, Answer> answers = {
      {"whole plan", passes(5)}, {"remembered", passes(5)}, {"write *", is_wrong()}};
  coder = "llm:one/big";
  const Ran first = run(answers);
  EXPECT_NE(first.steps.find("write "), std::string::npos) << first.steps;
  const Ran again = run(answers);
  EXPECT_EQ(again.steps.find("write "), std::string::npos) << again.steps;
  EXPECT_NE(again.not_again.find("write "), std::string::npos) << again.not_again;
  coder = "llm:two/other";
  const Ran other = run(answers);
  EXPECT_NE(other.steps.find("write "), std::string::npos) << other.steps;
}

TEST_F(Remembering, TheBestProgramOfTheGraphIsTriedFirst) {
  const std::map<std::string, Answer> answers = {
      {"whole plan", is_wrong()}, {"room to spare", passes(4)}, {"remembered", passes(4)}};
  const Ran first = run(answers);
  EXPECT_TRUE(first.steps.starts_with("whole plan, room to spare")) << first.steps;
  const Ran second = run(answers);
  EXPECT_EQ(second.steps, "remembered");
  EXPECT_EQ(second.program, first.program);
  EXPECT_LE(2 * second.attempts, first.attempts);
  EXPECT_EQ(run(answers, false).steps, first.steps);  // without memory
}

TEST_F(Remembering, ARealGpuHasItsOwnExperience) {
  device = runner::Device::emulated;
  // No times: estimates decide.
  auto right = [] { return verdict({.gate = "correctness", .outcome = verifier::Outcome::passed}); };
  const Ran first = run({{"whole plan", right}, {"remembered", right}});
  const Ran second = run({{"whole plan", right}, {"remembered", right}});
  EXPECT_EQ(second.steps, "remembered");
  EXPECT_EQ(second.program, first.program);
  device = runner::Device::cuda;
  EXPECT_EQ(run({{"whole plan", passes(9)}}).steps, "whole plan");
}

TEST_F(Remembering, AProgramThatFailsNowIsNotTriedAThirdTime) {
  std::map<std::string, Answer> answers = {{"whole plan", passes(5)}};
  run(answers);
  answers["remembered"] = is_wrong();
  EXPECT_EQ(run(answers).steps, "remembered, whole plan");
  // What the second one shipped is the same plan.
  EXPECT_EQ(run(answers).steps, "whole plan");
}

TEST_F(Remembering, WhatARegionOfTheKindRefusedIsLeftOutOfAnotherGraph) {
  auto whole =
      plan::best_plan_of_steps(*context, code::catalogue(), [](const plan::StepRule&) { return true; });
  ASSERT_TRUE(whole);
  const std::string last = whole->plan.regions.back().name;  // softmax and what follows it, in one kernel
  auto wrong_there = [last] {
    verifier::Verdict out = *is_wrong()();
    out.gates[0].evidence = std::make_shared<const Json>(Json{{"wrong_region", last}});
    return out;
  };
  const Ran first = run({{"whole plan", wrong_there}});
  EXPECT_TRUE(first.steps.starts_with(format("whole plan, without {} in the plan", last))) << first.steps;
  auto store = store::RunStore::open(scratch->path() / "runs.db");
  auto observations = must(store::Memory(*store).all());
  int regions = 0;
  for (const store::Observation& one : observations)
    regions += one.scope == store::Scope::region && one.outcome == "wrong" && one.among == 1;
  EXPECT_EQ(regions, 1);
  open(model_of(1040));  // of another size, within the power of two
  const Ran other = run({{"whole plan", passes(9)}});
  EXPECT_NE(other.ledger.entries[0].why.find("not where it was refused before"), std::string::npos)
      << other.ledger.entries[0].why;
}

}  // namespace
}  // namespace stitch::agents
