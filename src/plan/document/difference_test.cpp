#include <algorithm>

#include "plan/document/difference.h"

#include <gtest/gtest.h>

#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch::plan {
namespace {

// Two pairs of layers that have nothing to do with each other.
constexpr const char* two_ways = R"(graph "net"
parameter %w1 : f32[64,32]
parameter %w2 : f32[64,32]
input %x : f32[16,32]
%a = linear(%x, %w1) : f32[16,64]
%r = relu(%a) : f32[16,64]
%b = linear(%x, %w2) : f32[16,64]
%s = sigmoid(%b) : f32[16,64]
output %r
output %s
end
)";

Plan after(const Context& context, std::initializer_list<std::string_view> steps) {
  auto plan = plan_of_steps(context, code::catalogue(), [&](const StepRule& rule) {
    return std::ranges::find(steps, rule.name) != steps.end();
  });
  if (!plan) throw Bug(plan.error().text());
  return *std::move(plan);
}

TEST(Difference, IsTakenForSomeRegionsAndDroppedForOthers) {
  const Graph graph = *parse_graph(two_ways);
  const GpuSpec gpu = *find_gpu("H200");
  const Context context(graph, gpu, Numerics::standard);
  const Plan libraries = after(context, {"libraries"}), fused = after(context, {"libraries", "epilogues"});
  const std::vector<Change> changes = difference(graph, libraries, fused);
  ASSERT_EQ(changes.size(), 2u) << "each product with what follows it";
  EXPECT_EQ(changes[0].nodes, (std::set<int32_t>{0, 1}));
  EXPECT_EQ(changes[0].before.size(), 2u);
  EXPECT_EQ(changes[0].after.size(), 1u);

  auto half = take_changes(graph, libraries, fused, {changes[1]});
  ASSERT_TRUE(half) << half.error().text();
  EXPECT_EQ(half->regions.size(), libraries.regions.size() - 1);
  auto checked = check_whole(context, *half);
  EXPECT_TRUE(checked) << checked.error().text();
  EXPECT_TRUE(code::write_program(context, *half));
  EXPECT_EQ(difference(graph, *half, fused).size(), 1u) << "what is left of it";

  auto none = take_changes(graph, libraries, fused, {}), all = take_changes(graph, libraries, fused, changes);
  ASSERT_TRUE(none && all);
  EXPECT_TRUE(difference(graph, libraries, *none).empty());
  EXPECT_TRUE(difference(graph, fused, *all).empty());
}

// What is stored in fp16 is so for its writer and its readers.
TEST(Difference, HoldsTogetherWhatAContractTies) {
  const Graph graph = *parse_graph(R"(graph "net"
parameter %w1 : f32[32,16,3,3]
parameter %w2 : f32[16,32,3,3]
input %x : f32[64,16,64,64]
%a = conv(%x, %w1) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,32,64,64]
%r = relu(%a) : f32[64,32,64,64]
%c = conv(%r, %w2) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,16,64,64]
output %c
end
)");
  const GpuSpec gpu = *find_gpu("H200");
  const Context context(graph, gpu, Numerics::standard);
  const Plan single = after(context, {"libraries", "epilogues"}),
             half = after(context, {"libraries", "epilogues", "half storage"});
  const std::vector<Change> changes = difference(graph, single, half);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].nodes, (std::set<int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace stitch::plan
