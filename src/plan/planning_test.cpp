// Graph in, plan out: what the Planner makes of small graphs with the Coder's own techniques.
#include <gtest/gtest.h>

#include <algorithm>

#include "code/write_program.h"
#include "plan/choose.h"
#include "plan/cost/estimate.h"
#include "plan/plain_plan.h"
#include "plan/regions/fusion.h"
#include "plan/regions/layouts.h"
#include "plan/steps.h"
#include "plan/testdata/planned.h"

namespace stitch {

TEST(Planning, AnActivationGoesIntoItsProduct) {
  EXPECT_EQ(planned(R"(graph "mlp"
parameter %w : f32[32,64]
parameter %b : f32[32]
input %x : f32[16,64]
%y = linear(%x, %w, %b) : f32[16,32]
%z = relu(%y) : f32[16,32]
output %z
end
)"),
            (Lines{"matmul.cublaslt: linear relu"}));
}

// The text of program.cu, every step taken.
std::string program_of(const std::string& text) {
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  auto contents = code::write_program(context_of(graph), *plan);
  if (!contents) throw Bug(contents.error().text());
  return contents->sources.at("program.cu");
}

TEST(Planning, OneKernelNeedsNoGraph) {
  const std::string alone = "graph \"g\"\ninput %x : f32[16,64]\n%y = relu(%x) : f32[16,64]\n";
  EXPECT_EQ(program_of(alone + "output %y\nend\n").find("GraphCache"), std::string::npos);
  EXPECT_NE(
      program_of(alone + "parameter %w : f32[32,64]\n%z = linear(%y, %w) : f32[16,32]\noutput %z\nend\n")
          .find("GraphCache"),
      std::string::npos);
}

TEST(Planning, AChainIsOneKernel) {
  EXPECT_EQ(planned(R"(graph "chain"
input %x : f32[16,64]
%a = sigmoid(%x) : f32[16,64]
%b = mul(%a, %x) : f32[16,64]
%c = softmax(%b) dim=1 : f32[16,64]
%d = neg(%c) : f32[16,64]
output %d
end
)"),
            (Lines{"row: sigmoid mul softmax neg"}));
}

// Gemma-2's residual stream: a norm adds to it, the next norm reads it at once, a later sum once more.
TEST(Planning, TwoNormsAndTheSumBetweenThemAreOneKernel) {
  EXPECT_EQ(planned(R"(graph "stream"
parameter %w : bf16[768,768]
input %x : bf16[1024,768]
input %stream : bf16[1024,768]
%n = rms_norm(%x) dims=1 : bf16[1024,768]
%sum = add(%stream, %n) : bf16[1024,768]
%m = rms_norm(%sum) dims=1 : bf16[1024,768]
%y = linear(%m, %w) : bf16[1024,768]
%k = rms_norm(%y) dims=1 : bf16[1024,768]
%z = add(%sum, %k) : bf16[1024,768]
output %z
end
)"),
            (Lines{"row: rms_norm add rms_norm", "matmul.cublaslt: linear", "row: rms_norm add"}));
}

TEST(Planning, StackedStepsAreNotWrittenIntoEveryBranch) {
  auto steps = [](int count) {
    std::string text = "graph \"path\"\ninput %table : i64[4,16]\ninput %s0 : i64[4,1]\n", parts = "%s0";
    for (int k = 1; k <= count; ++k) {
      text += format("%s{} = gather(%table, %s{}) dim=1 : i64[4,1]\n", k, k - 1);
      parts += format(", %s{}", k);
    }
    return text + format("%path = concat({}) dim=1 : i64[4,{}]\noutput %path\nend\n", parts, count + 1);
  };
  EXPECT_EQ(planned(steps(10)).size(), 1u);
  EXPECT_GT(planned(steps(40)).size(), 1u);
}

TEST(Planning, StencilsAreNotComputedAgainForEveryNeighbour) {
  auto stencil = [](int count) {
    std::string text = "graph \"heat\"\ninput %u0 : f32[4,66]\n";
    for (int k = 1; k <= count; ++k)
      text += format(
          "%l{0} = slice(%u{1}) dim=1 start=0 end=64 : f32[4,64]\n"
          "%r{0} = slice(%u{1}) dim=1 start=2 end=66 : f32[4,64]\n"
          "%s{0} = add(%l{0}, %r{0}) : f32[4,64]\n"
          "%u{0} = pad(%s{0}) pads=[0,0,1,1] : f32[4,66]\n",
          k, k - 1);
    return text + format("output %u{}\nend\n", count);
  };
  EXPECT_EQ(planned(stencil(3)).size(), 1u);
  EXPECT_GT(planned(stencil(12)).size(), 1u);
}

TEST(Planning, AttentionReadsHeadsWhereTheyLie) {
  EXPECT_EQ(
      planned(R"(graph "self attention"
parameter %w : f32[96,32]
parameter %o : f32[32,32]
input %x : f32[4,9,32]
%y = linear(%x, %w) : f32[4,9,96]
%h = reshape(%y) shape=[4,9,3,4,8] : f32[4,9,3,4,8]
%a = slice(%h) dim=2 start=0 end=1 : f32[4,9,1,4,8]
%b = slice(%h) dim=2 start=1 end=2 : f32[4,9,1,4,8]
%c = slice(%h) dim=2 start=2 end=3 : f32[4,9,1,4,8]
%q = permute(%a) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%k = permute(%b) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%v = permute(%c) dims=[2,0,3,1,4] : f32[1,4,4,9,8]
%t = attention(%q, %k, %v) scale=0.35 : f32[1,4,4,9,8]
%p = permute(%t) dims=[0,1,3,2,4] : f32[1,4,9,4,8]
%r = reshape(%p) shape=[4,9,32] : f32[4,9,32]
%z = linear(%r, %o) : f32[4,9,32]
output %z
end
)"),
      (Lines{"matmul.cublaslt: linear",
             "attention.tensor_core: reshape slice slice slice permute permute permute attention permute",
             "matmul.cublaslt: reshape linear"}));
}

// y is needed twice, once after another product: taking it into that product's region would be a cycle.
TEST(Planning, NoRegionWaitsForItself) {
  Graph graph = graph_of(R"(graph "detour"
parameter %w : f32[8,8]
input %x : f32[8,8]
%a = exp(%x) : f32[8,8]
%b = linear(%a, %w) : f32[8,8]
%c = add(%a, %b) : f32[8,8]
output %c
end
)");
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan::check(graph, *plan));
  EXPECT_EQ(regions_of(graph, *plan), (Lines{"loop: exp", "matmul.cublaslt: linear add"}));
}

TEST(Planning, InvalidPlansAreNamed) {
  Graph graph = graph_of(
      "graph \"g\"\ninput %x : f32[4]\n%a = exp(%x) : f32[4]\n%b = neg(%a) : f32[4]\noutput %b\nend\n");
  auto plan = plan::plain_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan);
  plan::Plan missing = *plan;
  missing.regions.pop_back();
  EXPECT_EQ(plan::check(graph, missing).error().message, "'b' is not in any region");
  plan::Plan twice = *plan;
  twice.regions.push_back(twice.regions[0]);
  EXPECT_NE(plan::check(graph, twice).error().message.find("covered twice"), std::string::npos);
  plan::Plan backwards = *plan;
  std::swap(backwards.regions[0], backwards.regions[1]);
  EXPECT_NE(plan::check(graph, backwards).error().message.find("before anyone has written it"),
            std::string::npos);
}

// A step of decoding: a layer's part of the cache is neither cut out nor copied, and counts as what it is.
TEST(Planning, AttentionReadsACacheBesideWhatIsNew) {
  auto step = [](const char* outputs) {
    return std::string(R"(graph "decoding"
input %q : f32[2,8,1,64]
input %cache : f32[4,2,2,511,64]
input %k_new : f32[2,2,1,64]
input %v_new : f32[2,2,1,64]
%a = slice(%cache) dim=0 start=0 end=1 : f32[1,2,2,511,64]
%b = reshape(%a) shape=[2,2,511,64] : f32[2,2,511,64]
%c = slice(%cache) dim=0 start=1 end=2 : f32[1,2,2,511,64]
%d = reshape(%c) shape=[2,2,511,64] : f32[2,2,511,64]
%k = concat(%b, %k_new) dim=2 : f32[2,2,512,64]
%v = concat(%d, %v_new) dim=2 : f32[2,2,512,64]
%o = attention(%q, %k, %v) scale=0.125 : f32[2,8,1,64]
)") + outputs +
           "end\n";
  };
  const std::string text = step("output %o\n");
  EXPECT_EQ(planned(text), (Lines{"attention.few: slice reshape slice reshape concat concat attention"}));
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const double cut = 2.0 * 2 * 2 * 512 * 64, rows = 2.0 * 2 * 8 * 64;
  EXPECT_EQ(plan::work_of(graph, *plan, plan->regions[0]).bytes, 4 * (cut + rows));
  // A cache that is handed out is written anyway.
  const Lines kept = planned(step("output %o\noutput %k\noutput %v\n"));
  EXPECT_EQ(std::ranges::count(kept, "attention.few: attention"), 1) << join(kept, "\n");
}

}  // namespace stitch
