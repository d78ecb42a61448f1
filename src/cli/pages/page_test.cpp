#include "cli/pages/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/testdata/sample_graphs.h"

namespace stitch {
namespace {

std::string page(const Graph& graph) {
  return report_page(make_report(graph, "model.py", *find_gpu("H200")));
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

Json data_of(const std::string& page) {
  auto data = parse_json(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
  EXPECT_TRUE(data);
  return data ? *data : Json();
}

// Every tag that opens is closed, in order; what HTML leaves open by design stays open.
std::string unbalanced_tag(const std::string& page) {
  const std::vector<std::string> alone = {"meta", "input", "!doctype", "path"};
  std::vector<std::string> open;
  for (size_t at = 0; (at = page.find('<', at)) != std::string::npos;) {
    size_t end = page.find('>', at);
    if (end == std::string::npos) return page.substr(at, 20);
    std::string tag = page.substr(at + 1, end - at - 1);
    bool closing = tag.starts_with('/');
    std::string name = tag.substr(closing, tag.find_first_of(" \n/", closing) - closing);
    at = end + 1;
    if (closing) {
      if (open.empty() || open.back() != name) return tag;
      open.pop_back();
    } else if (!tag.ends_with('/') && std::ranges::find(alone, name) == alone.end()) {
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, at);
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(Page, IsWellFormedAndNeedsNothingFromOutside) {
  std::string text = page(samples::resnet18());
  EXPECT_EQ(unbalanced_tag(text), "");
  for (const char* outside :
       {"http://", "https://", "//cdn", "src=", "@import", "url(h", "fetch(", "{{", "}}"})
    EXPECT_EQ(text.find(outside), std::string::npos) << outside;
  EXPECT_NE(text.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Page, HoldsTheWholeGraph) {
  Graph graph = samples::resnet18();
  Json data = data_of(page(graph));
  EXPECT_EQ(data["items"].size(), graph.nodes.size() + 2);  // and an input and an output
  EXPECT_EQ(data["items"][0]["kind"], "input");
  EXPECT_EQ(data["items"][1]["op"], "conv");
  EXPECT_EQ(data["facts"][0]["value"], "11.69 M");
  bool framed = false;
  for (const Json& frame : data["frames"]) framed = framed || frame[0] == "layer1.0";
  EXPECT_TRUE(framed);
}

TEST(Page, NamesFromTheModelCannotEscape) {
  samples::Builder b;
  b.graph.name = "</title><script>alert(1)</script>";
  ValueId x = b.input("<!--</script><b>", {4});
  b.graph.outputs = {b.one(Op::relu, {x})};
  std::string text = page(b.graph);
  EXPECT_EQ(unbalanced_tag(text), "");
  EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  EXPECT_EQ(data_of(text)["items"][0]["name"], "<!--</script><b>");
}

TEST(Page, CountersOfBatchesAreNotDrawn) {
  Graph graph = samples::resnet18();
  ValueId counter = graph.add_leaf(Role::buffer, "bn1.num_batches_tracked", {DType::i64, {}, {}}, "n");
  ValueId one =
      (*graph.add_node(Op::full, {}, {{"shape", Shape{}}, {"dtype", DType::i64}, {"value", 1.0}}))[0];
  graph.updates.push_back({counter, (*graph.add_node(Op::add, {counter, one}))[0]});
  Json data = data_of(page(graph));
  EXPECT_EQ(data["left_out"], 2);
  EXPECT_EQ(data["items"].size(), graph.nodes.size() - 2 + 2);
}

TEST(Page, EmptyGraph) { EXPECT_EQ(data_of(page(Graph{}))["items"].size(), 0u); }

TEST(Page, ThirteenHundredNodesAreQuickAndSmall) {
  Graph graph = samples::transformer(96);
  const std::clock_t start = std::clock();
  std::string text = page(graph);
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);
  EXPECT_LT(text.size(), 3'000'000u);
  // To look at: STITCH_PAGE_OUT=/tmp/pages cli_test --gtest_filter='Page.*'
  if (const char* folder = std::getenv("STITCH_PAGE_OUT")) {
    std::ofstream(std::string(folder) + "/transformer96.html") << text;
    std::ofstream(std::string(folder) + "/resnet18.html") << page(samples::resnet18());
  }
}

}  // namespace
}  // namespace stitch
