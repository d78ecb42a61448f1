// Regions in PyTorch's words: every function that is named exists.
#include "agents/llm/region_brief.h"
#include "agents/llm/region_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/llm/region_answer.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "import/python.h"
#include "llm/answers.h"
#include "plan/steps.h"

namespace stitch::agents {
namespace {

TEST(RegionBrief, NamesFunctionsThatPyTorchHas) {
  EXPECT_EQ(pytorch_name(Op::silu, 0), "F.silu");
  EXPECT_EQ(pytorch_name(Op::conv, 2), "F.conv2d");
  std::string script = "import torch, torch.nn.functional as F\n";
  for (int op = 0; op < op_count; ++op) {
    const std::string name = pytorch_name(static_cast<Op>(op), 2);
    if (name.find('.') != std::string::npos) script += name + "\n";  // an AttributeError if there is none
  }
  auto python = must(find_python());
  auto finished = must(stitch::run({.words = {python.string(), "-c", script}, .extra_environment = {}}));
  EXPECT_EQ(finished.exit_code, 0) << finished.error_tail;
}

// What a model reads of a region: every figure, name and value that it may answer with.
TEST(RegionFacts, SayWhatLimitsARegionAndWhatItMayBecome) {
  auto graph = must(parse_graph(
      "graph \"two\"\nparameter %w : f32[512,256]\ninput %x : f32[2048,256]\n%y = linear(%x, %w) : "
      "f32[2048,512]\n%z = softmax(%y) dim=1 : f32[2048,512]\noutput %z\nend\n"));
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  auto plan = plan::first_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const Task task{.source = "two.py"};
  Ledger ledger;
  ledger.entries.push_back({.step = "write z", .after = 4e-6, .outcome = Outcome::not_better});
  const Situation now{.task = task, .context = context, .ledger = ledger};
  const plan::Region& z = plan->regions.back();
  const std::string facts = facts_of(now, *plan, z),
                    choices = choices_of(context, *plan, z, code::catalogue()), all = facts_of(now, *plan),
                    catalogue = choices_of(context, *plan, code::catalogue(), 1 << 20);
  for (const char* told : {"(estimated)", "Floor: ", "set by memory", "moved", "from y",
                           "stored as f32, row-major", "write z: not better, 4 us a call"})
    EXPECT_NE(facts.find(told), std::string::npos) << told << "\n" << facts;
  for (const char* told : {"(now)", "offers: ", "estimated "})
    EXPECT_NE(choices.find(told), std::string::npos) << choices;
  // The example is one that can be made.
  const size_t example = choices.find("An example of a change:");
  ASSERT_NE(example, std::string::npos) << choices;
  const Json change = must(llm::json_from_answer(choices, region_changes_schema()));
  EXPECT_TRUE(with_change(change["changes"][0], context, *plan, code::catalogue())) << change;
  EXPECT_NE(all.find("- y by "), std::string::npos) << all;
  for (const char* told : {"Accept y:", "Accept z:", "one of "})
    EXPECT_NE(catalogue.find(told), std::string::npos) << catalogue;
}

// Notes come by what a region computes and by what limits it, not only by its operators' names.
TEST(RegionBrief, FindsNotesOnTheSubject) {
  auto graph = must(parse_graph(
      "graph \"conv\"\nparameter %w : f32[256,128,3,3]\ninput %x : f32[32,128,56,56]\n"
      "%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[32,256,56,56]\noutput %y\nend\n"));
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  auto plan = must(plan::first_plan(context, code::catalogue()));
  const Task task{.source = "conv.py"};
  const Ledger ledger;
  const notes::Collection notes = notes::built_in();
  auto brief = must(brief_of({.task = task, .context = context, .ledger = ledger}, plan, plan.regions[0].name,
                             Proposal{}, {.notes = &notes}));
  const std::string& found = brief.values.at("notes");
  EXPECT_TRUE(found.find("Implicit GEMM") != std::string::npos || found.find("mma.sync") != std::string::npos)
      << found;
  EXPECT_EQ(found.find("Sorting"), std::string::npos) << found;
}

}  // namespace
}  // namespace stitch::agents
