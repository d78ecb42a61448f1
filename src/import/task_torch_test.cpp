#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/text.h"
#include "import/python.h"
#include "import/task.h"

namespace stitch {
namespace {

// What the Planner and the Coder see must not depend on whether a graph was on disk in between.
TEST(OpenTaskTorch, HoldsTheGraphThatAFolderWouldHold) {
  if (!find_python()) GTEST_SKIP() << "needs PyTorch";
  auto task = open_task(STITCH_SOURCE_DIR "/examples/lenet5.py", {});
  if (!task && task.error().code == "exporter") GTEST_SKIP() << "needs PyTorch: " << task.error().text();
  ASSERT_TRUE(task) << task.error().text();
  const Graph& graph = (*task)->graph;
  auto parsed = parse_graph(print_graph(graph));
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_EQ(parsed->values.size(), graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) EXPECT_EQ(parsed->values[i].name, graph.values[i].name);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(parsed->nodes[i].operands, graph.nodes[i].operands);
    EXPECT_EQ(parsed->nodes[i].module, graph.nodes[i].module);
  }
  ASSERT_TRUE((*task)->weights);
  EXPECT_EQ((*task)->facts->at("class"), "Model");
  EXPECT_NE((*task)->text.find("class Model"), std::string::npos);
}

}  // namespace
}  // namespace stitch
