#include "cli/commands/show.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/pages/report.h"
#include "cli/testdata/sample_graphs.h"
#include "gpu/gpu_spec.h"
#include "graph/text.h"

namespace stitch {
namespace {

struct Shown {
  int code = -1;
  std::string out, err;
};

Shown show(const Graph& graph, ShowOptions options, bool json = false, int width = 120) {
  std::ostringstream out, err;
  Console console{out, err, {.width = width}, {}, json};
  if (options.gpu.empty()) options.gpu = "H200";
  auto code = show_graph(graph, "model.py", options, console);
  EXPECT_TRUE(code) << (code ? "" : code.error().text());
  return {code ? *code : -1, out.str(), err.str()};
}

TEST(Show, ResNet18InATerminal) {
  Graph graph = samples::resnet18();
  Shown shown = show(graph, {});
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(
      shown.out.starts_with("ResNet18  model.py\n69 nodes · 11.69 M parameters · 40 buffers updated\n"))
      << shown.out;
  EXPECT_NE(shown.out.find("inputs   x       f32[2,3,224,224]"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("The 15 heaviest of 69 nodes"), std::string::npos);
  EXPECT_NE(shown.out.find("theoretical limit on H200"), std::string::npos);
  EXPECT_NE(shown.out.find("peak memory"), std::string::npos);
}

TEST(Show, AGraphThatOnlyTakesALaunchIsCalledLaunchBound) {
  samples::Builder b;
  b.graph.outputs = {b.one(Op::relu, {b.input("x", {4})})};
  Shown shown = show(b.graph, {});
  EXPECT_NE(shown.out.find("launch bound: memory"), std::string::npos) << shown.out;
  auto json = must(parse_json(show(b.graph, {}, true).out));
  EXPECT_EQ(json["floor"]["bound"], "launch");
}

// As a norm that a pass folded into a convolution leaves them.
TEST(Show, NodesThatDependOnWeightsAloneCostACallNothing) {
  const Graph graph = must(parse_graph(R"(graph "folded"
parameter %w : f32[32,64]
parameter %scale : f32[32,1]
input %x : f32[16,64]
%scaled = mul(%w, %scale) : f32[32,64]
%y = linear(%x, %scaled) : f32[16,32]
output %y
end
)"));
  const Report report = make_report(graph, "", *find_gpu("H200"));
  EXPECT_EQ(report.floor.share(0), 0);
  EXPECT_EQ(bound_text(report, 0), "free");
  EXPECT_DOUBLE_EQ(report.cost.total.flops, report.cost.nodes[1].flops);
}

TEST(Show, NothingIsWiderThanTheTerminalAndBigGraphsStayShort) {
  Graph graph = samples::transformer(96);
  ASSERT_GT(graph.nodes.size(), 1300u);
  for (int width : {60, 80, 120, 200}) {
    Shown shown = show(graph, {}, false, width);
    std::vector<std::string> lines = split(shown.out, '\n');
    EXPECT_LT(lines.size(), 60u);
    for (const std::string& line : lines) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(Show, OpsListsEveryNodeInOrder) {
  Graph graph = samples::resnet18();
  Shown shown = show(graph, {.ops = true});
  EXPECT_NE(shown.out.find("All nodes, in order"), std::string::npos);
  EXPECT_GT(split(shown.out, '\n').size(), graph.nodes.size());
  EXPECT_LT(shown.out.find("conv_2 "), shown.out.find("conv_3 "));
}

TEST(Show, TextIsTheGraphItself) {
  Graph graph = samples::resnet18();
  EXPECT_EQ(show(graph, {.text = true}).out, print_graph(graph));
}

TEST(Show, JsonIsOneDocumentWithEverything) {
  Graph graph = samples::resnet18();
  auto document = must(parse_json(show(graph, {}, true).out));
  EXPECT_EQ(document["name"], "ResNet18");
  EXPECT_EQ(document["totals"]["parameters"], 11689512);
  EXPECT_EQ(document["nodes"].size(), graph.nodes.size());
  EXPECT_EQ(document["gpu"]["name"], "H200");
  double shares = 0;
  for (const Json& kind : document["ops"]) shares += kind["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  // 2 x 1.814 G multiplications and additions, for two images.
  EXPECT_NEAR(document["totals"]["matrix_flops"].get<double>(), 2 * 2 * 1.814e9, 0.01e9);
}

TEST(Show, AnEmptyGraphIsNoFailure) {
  Graph graph;
  EXPECT_EQ(show(graph, {}).code, 0);
  EXPECT_TRUE(parse_json(show(graph, {}, true).out));
}

TEST(Show, AnUnwritablePageIsTheUsersMistake) {
  std::ostringstream out, err;
  Console console{out, err, {}, {}};
  auto code = show_graph(samples::resnet18(), "", {.gpu = "H200", .html = "/dev/null/x.html"}, console);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().exit_code(), 2);
}

TEST(Report, Numbers) {
  EXPECT_EQ(count_text(11689512), "11.69 M");
  EXPECT_EQ(count_text(1234567), "1.235 M");
  EXPECT_EQ(count_text(61706), "61.71 k");
  EXPECT_EQ(count_text(124439808), "124.4 M");
  EXPECT_EQ(count_text(9999), "9999");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(share_text(0.1234), "12.3 %");
  EXPECT_EQ(share_text(0.0001), "<0.1 %");
  EXPECT_EQ(share_text(0), "");
}

}  // namespace
}  // namespace stitch
