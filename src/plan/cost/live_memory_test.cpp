// Memory between regions: what plans hold beside what the model would, run node by node.
#include "plan/cost/live_memory.h"

#include <gtest/gtest.h>

#include "plan/regions/fusion.h"
#include "plan/testdata/planned.h"

namespace stitch {

namespace {

constexpr int64_t mebi = 1 << 20;

// total = x · w0 + f(x) · w1 + f(f(x)) · w2 …, each term of rows · 1024 floats.
Graph sum_of_products(int terms, int64_t rows) {
  std::string text = "graph \"sum\"\n";
  for (int t = 0; t < terms; ++t) text += format("parameter %w{} : f32[1024,64]\n", t);
  text += format("input %x0 : f32[{},64]\n", rows);
  for (int t = 0; t < terms; ++t) {
    text += format("%p{0} = linear(%x{0}, %w{0}) : f32[{1},1024]\n", t, rows);
    if (t > 0)
      text +=
          format("%s{0} = add(%{1}, %p{0}) : f32[{2},1024]\n", t, t > 1 ? format("s{}", t - 1) : "p0", rows);
    text += format("%x{1} = tanh(%x{0}) : f32[{2},64]\n", t, t + 1, rows);
  }
  return graph_of(text + format("output %s{}\nend\n", terms - 1));
}

plan::Plan plan_of(const plan::Context& context) {
  auto plan = plan::make_plan(context, code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  return *std::move(plan);
}

}  // namespace

TEST(LiveMemory, NodesInOrderHoldWhatIsStillRead) {
  const Graph graph = graph_of(R"(graph "chain"
input %x : f32[1024,1024]
%a = exp(%x) : f32[1024,1024]
%v = reshape(%a) shape=[1048576] : f32[1048576]
%b = tanh(%v) : f32[1048576]
%c = sum(%b) dims=[0] : f32[]
output %c
end
)");
  EXPECT_EQ(plan::memory_allowed(graph), 2 * 4 * mebi + 8 * mebi);
}

TEST(LiveMemory, ASumOfManyProductsGrowsWithEach) {
  const Graph graph = sum_of_products(8, 16384);  // 64 MB a product
  const plan::Context context = context_of(graph);
  const plan::Plan plan = plan_of(context);
  for (const plan::Region& region : plan.regions) EXPECT_LE(region.reads.size(), 3u) << region.name;
}

TEST(LiveMemory, ASumOfSmallProductsIsMadeAsBefore) {
  const Graph graph = sum_of_products(8, 64);
  const plan::Context context = context_of(graph);
  EXPECT_LE(plan::live_memory(context, plan_of(context)).peak, plan::memory_allowed(graph));
}

TEST(LiveMemory, BranchesThatHoldTooMuchAreFewerAtATime) {
  // Sixteen ways from one value to a sum; each alone is small for this GPU.
  std::string text = "graph \"ways\"\ninput %x : f32[1024,1024]\n", sum = "x";
  for (int w = 0; w < 16; ++w) {
    text +=
        format("%a{0} = cumsum(%x) dim=1 : f32[1024,1024]\n%b{0} = softmax(%a{0}) dim={1} : f32[1024,1024]\n",
               w, w % 2);
    text += format("%s{0} = sum(%b{0}) dims=[1] : f32[1024]\n", w);
  }
  text += "%c = concat(";
  for (int w = 0; w < 16; ++w) text += format("{}%s{}", w ? ", " : "", w);
  const Graph graph = graph_of(text + ") dim=0 : f32[16384]\noutput %c\nend\n");
  const plan::Context context = context_of(graph);
  auto first = plan::first_plan(context, code::catalogue());
  ASSERT_TRUE(first);
  auto plan = plan::run_side_by_side(context, *first, code::catalogue());
  ASSERT_TRUE(plan && plan::check(graph, *plan));
  EXPECT_FALSE(plan::sections_of(*plan).empty());
  EXPECT_LE(plan::live_memory(context, *plan).peak, plan::memory_allowed(graph));
}

TEST(LiveMemory, WhatRunsAtOnceIsHeldAtOnce) {
  const Graph graph = graph_of(R"(graph "sides"
input %x : f32[1024,1024]
%a = exp(%x) : f32[1024,1024]
%b = tanh(%x) : f32[1024,1024]
%c = add(%a, %b) : f32[1024,1024]
output %c
end
)");
  const plan::Context context = context_of(graph);
  auto plan = plan::first_plan(context, code::catalogue());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan::live_memory(context, *plan).at, (std::vector<int64_t>{4 * mebi, 8 * mebi, 12 * mebi}));
  plan->regions[0].section = plan->regions[1].section = 1;
  plan->regions[1].branch = 1;
  EXPECT_EQ(plan::live_memory(context, *plan).at, (std::vector<int64_t>{8 * mebi, 8 * mebi, 12 * mebi}));
}

}  // namespace stitch
