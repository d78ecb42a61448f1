#include "agents/loop/part_of_step.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "code/catalogue.h"
#include "graph/text.h"
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

}  // namespace stitch::agents
