// Graph in, plan out: what the Planner makes of small graphs with the Coder's own techniques.
#include <gtest/gtest.h>

#include "base/text.h"
#include "code/technique.h"
#include "graph/text.h"
#include "plan/steps.h"

namespace stitch {

namespace {

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) throw Bug(graph.error().text());
  return *std::move(graph);
}

// "technique: op op" a region, in order.
std::vector<std::string> regions_of(const Graph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Region& region : plan.regions) {
    std::vector<std::string> ops;
    for (int32_t n : region.nodes) ops.emplace_back(info(graph.nodes[static_cast<size_t>(n)].op).name);
    out.push_back(region.technique + ": " + join(ops, " "));
  }
  return out;
}

std::vector<std::string> planned(const std::string& text) {
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(graph, "default", code::techniques(), *find_gpu("H200"));
  if (!plan) throw Bug(plan.error().text());
  return regions_of(graph, *plan);
}

using Lines = std::vector<std::string>;

}  // namespace

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
  auto plan = plan::make_plan(graph, "default", code::techniques(), *find_gpu("H200"));
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan::check(graph, *plan));
  EXPECT_EQ(regions_of(graph, *plan), (Lines{"loop: exp", "matmul.cublaslt: linear add"}));
}

TEST(Planning, InvalidPlansAreNamed) {
  Graph graph = graph_of(
      "graph \"g\"\ninput %x : f32[4]\n%a = exp(%x) : f32[4]\n%b = neg(%a) : f32[4]\noutput %b\nend\n");
  auto plan = plan::plain_plan(graph, "default", code::plain_technique);
  ASSERT_TRUE(plan);
  plan::Plan missing = *plan;
  missing.regions.pop_back();
  EXPECT_EQ(plan::check(graph, missing).error().message, "'b' is in no region");
  plan::Plan twice = *plan;
  twice.regions.push_back(twice.regions[0]);
  EXPECT_NE(plan::check(graph, twice).error().message.find("covered twice"), std::string::npos);
  plan::Plan backwards = *plan;
  std::swap(backwards.regions[0], backwards.regions[1]);
  EXPECT_NE(plan::check(graph, backwards).error().message.find("before anyone has written it"),
            std::string::npos);
}

}  // namespace stitch
