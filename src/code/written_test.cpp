#include "code/written.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch::code {
namespace {

constexpr const char* two_blocks = R"(graph "two"
input %x : f32[4,8]
%a = relu(%x) : f32[4,8]
%b = sigmoid(%a) : f32[4,8]
output %b
end
)";

Graph graph_of(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return *std::move(graph);
}

GpuSpec gpu() { return *find_gpu("H200"); }

TEST(Written, IsPartOfPlanDocumentAndProgram) {
  const Graph graph = graph_of(two_blocks);
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  const std::string region = plan->regions[0].name;
  auto requests = requests_of(context, *plan);
  ASSERT_TRUE(requests);
  EXPECT_NE(required_function((*requests)[0], 0).find("StitchStatus enqueue_" + region + "("),
            std::string::npos);
  EXPECT_NE(describe_places((*requests)[0]).find("strides in elements (8, 1)"), std::string::npos);

  const plan::Source source{.function = "enqueue_" + region,
                            .text = required_function((*requests)[0], 0) + " { return STITCH_OK; }",
                            .author = "a test"};
  auto given = with_source(context, *plan, region, source);
  ASSERT_TRUE(given) << given.error().message;
  ASSERT_TRUE(plan::check_whole(context, *given));
  const Json document = plan::to_json(context, *given);
  EXPECT_EQ(document["regions"][0]["technique"], "written");
  auto again = plan::read_plan(document, context, catalogue());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(plan::to_json(context, *again).dump(), document.dump());
  EXPECT_EQ(plan::changed_regions(*plan, *given), std::vector<std::string>{region});

  auto program = write_program(context, *given);
  ASSERT_TRUE(program);
  const std::string& file = program->sources.at("regions/" + region + ".cu");
  EXPECT_NE(file.find("{ return STITCH_OK; }"), std::string::npos);
}

TEST(Written, RefusesWhatIsNoSourceOfTheRegion) {
  const Graph graph = graph_of(two_blocks);
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  const std::string region = plan->regions[0].name;
  auto refused = [&](plan::Source source) {
    auto given = with_source(context, *plan, region, std::move(source));
    return given ? std::string("accepted") : given.error().message;
  };
  EXPECT_NE(
      refused({.function = "enqueue_a", .text = "// enqueue_a is only a comment"}).find("doesn't define"),
      std::string::npos);
  EXPECT_NE(refused({.function = "a b", .text = "a b"}).find("name"), std::string::npos);
  EXPECT_NE(refused({.function = "f", .text = "f", .workspace_bytes = -1}).find("workspace"),
            std::string::npos);
  EXPECT_FALSE(with_source(context, *plan, "nobody", {.function = "f", .text = "f"}));

  // A source where none belongs, and none where one does.
  Json document = plan::to_json(context, *plan);
  document["regions"][0]["source"] = {{"function", "f"}, {"text", "f"}};
  auto read = plan::read_plan(document, context, catalogue());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("writes its code itself"), std::string::npos);
  document["regions"][0].erase("source");
  document["regions"][0]["technique"] = "written";
  EXPECT_FALSE(plan::read_plan(document, context, catalogue()));
}

TEST(Written, IsGivenToAllRegionsOfTheSameStructure) {
  const Graph graph = graph_of(R"(graph "twice"
input %x : f32[4,8]
%a = relu(%x) : f32[4,8]
%b = relu(%a) : f32[4,8]
%c = relu(%b) : f32[4,8]
output %c
end
)");
  const GpuSpec h200 = gpu();
  const plan::Context context(graph, h200, Numerics::standard);
  auto plan = plan::first_plan(context, catalogue());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->regions.size(), 3U);
  const std::string second = plan->regions[1].name;
  auto given = with_source(context, *plan, second,
                           {.function = "enqueue_" + second, .text = "int enqueue_" + second + ";"});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->regions[1].technique->name(), "written");
  auto program = write_program(context, *given);
  ASSERT_TRUE(program);
}

}  // namespace
}  // namespace stitch::code
