// The compact Coder in the loop: its choices are the last step, and the Verifier decides.
#include "learn/coder/propose.h"

#include <gtest/gtest.h>

#include "agents/llm/scripted.h"
#include "learn/coder/features.h"

namespace stitch::learn {
namespace {

namespace scripted = agents::scripted;
using scripted::is_wrong, scripted::passes, scripted::ScriptedCoder, scripted::ScriptedPlanner,
    scripted::ScriptedVerifier;

struct LearnedLoop {
  Result<agents::Optimized> run(std::deque<scripted::Answer> answers) {
    task.graph = *parse_graph(R"(graph "learned"
parameter %w : f32[1024,1024]
parameter %v : f32[1024,1024]
input %x : f32[512,1024]
%first = linear(%x, %w) : f32[512,1024]
%active = relu(%first) : f32[512,1024]
%second = linear(%active, %v) : f32[512,1024]
%rows = softmax(%second) dim=1 : f32[512,1024]
output %rows
end
)");
    scratch.emplace(*ScratchFolder::create("stitch-learned"));
    agents::OptimizeOptions options;
    options.out = scratch->path() / "out";
    const plan::Context context(task.graph, gpu, Numerics::standard);
    agents::Brains brains;
    std::vector<double> weights;  // large and different: sure of something
    for (int i = 0; i <= feature_count(); ++i) weights.push_back(i * 37 % 17 - 8.0);
    brains.planner = learned_planner(std::make_unique<ScriptedPlanner>(std::vector<std::string>{"plain"}),
                                     {.members = {Scorer({{feature_count()}}, weights)}, .caution = 0});
    brains.coder = std::make_unique<ScriptedCoder>();
    brains.verifier = std::make_unique<ScriptedVerifier>(std::move(answers));
    return agents::optimize(task, context, brains, options);
  }
  std::string shipped() const {
    auto text = read_file(scratch->path() / "out" / "program.cu");
    return text ? *text : text.error().text();
  }

  Task task{.source = "learned.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<ScratchFolder> scratch;
};

TEST(LearnedChoices, StayWhereTheVerifierFindsThemBetter) {
  LearnedLoop loop;
  auto out = loop.run({passes(4), passes(3), passes(3)});
  ASSERT_TRUE(out) << out.error().text();
  ASSERT_EQ(out->ledger.entries.size(), 2U);
  EXPECT_EQ(out->ledger.entries[1].step, learned_step);
  EXPECT_EQ(out->ledger.entries[1].outcome, agents::Outcome::better);
  EXPECT_NE(loop.shipped().find("// learned choices 1"), std::string::npos);
}

TEST(LearnedChoices, AreRolledBackWhereTheyAreSlowerOrWrong) {
  for (const scripted::Answer& answer : {passes(5), is_wrong()}) {
    LearnedLoop loop;
    auto out = loop.run({passes(4), answer, passes(4)});
    ASSERT_TRUE(out) << out.error().text();
    ASSERT_EQ(out->ledger.entries.size(), 2U);
    EXPECT_NE(out->ledger.entries[1].outcome, agents::Outcome::better);
    EXPECT_NE(loop.shipped().find("// plain 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace stitch::learn
