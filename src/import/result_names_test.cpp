#include "import/result_names.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/text.h"

namespace stitch {
namespace {

std::vector<std::string> named(const char* tree) {
  Graph graph = *parse_graph(R"(graph "g"
input %x : f32[4]
%hidden = relu(%x) : f32[4]
%add_1 = neg(%hidden) : f32[4]
%mean = exp(%add_1) : f32[4]
output %add_1
output %mean
end
)");
  name_results(graph, *parse_json(tree));
  EXPECT_TRUE(parse_graph(print_graph(graph))) << print_graph(graph);
  std::vector<std::string> out;
  for (ValueId id : graph.outputs) {
    out.push_back(graph[id].name);
    EXPECT_EQ(graph.find(out.back()), id);
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(ResultNames, AreTheModelsOwn) {
  // "hidden" is the name of a value in between, too: that one makes way.
  EXPECT_EQ(named(R"({"dict": [["hidden", {"output": 0}], ["pooled", {"output": 1}]]})"),
            (Names{"hidden", "pooled"}));
  EXPECT_EQ(
      named(
          R"({"class": "m:Out", "fields": [["last state", {"output": 1}], ["all", {"tuple": [{"output": 0}]}]]})"),
      (Names{"all_0", "last_state"}));
  EXPECT_EQ(named(R"({"dict": [["x", {"output": 0}], ["1", {"output": 1}]]})"), (Names{"x_2", "result_1"}))
      << "the input keeps its name";
}

TEST(ResultNames, StayWhereThereIsNoKey) {
  for (const char* tree : {R"({"tuple": [{"output": 0}, {"output": 1}]})", R"({"output": 0})", "null", "3"})
    EXPECT_EQ(named(tree), (Names{"add_1", "mean"})) << tree;
}

}  // namespace
}  // namespace stitch
