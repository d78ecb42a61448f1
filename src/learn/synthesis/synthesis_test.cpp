#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "graph/text.h"
#include "learn/synthesis/synthesize.h"

namespace stitch::learn {
namespace {

Graph graph_of(const std::string& body) {
  auto graph = parse_graph("graph \"g\"\n" + body + "end\n");
  EXPECT_TRUE(graph) << graph.error().text();
  return *std::move(graph);
}

TEST(Synthesis, CanonicalHashesKnowNoNamesAndNoOrder) {
  const Graph a = graph_of(
      "input %x : f32[4,8]\ninput %y : f32[4,8]\n\n%a = relu(%x) : f32[4,8]\n%b = tanh(%y) : f32[4,8]\n%c = "
      "add(%a, %b) : f32[4,8]\n\noutput %c\n");
  const Graph same = graph_of(
      "input %p : f32[4,8]\ninput %q : f32[4,8]\n\n%t = tanh(%q) : f32[4,8]\n%r = relu(%p) : f32[4,8]\n%s = "
      "add(%r, %t) : f32[4,8]\n\noutput %s\n");
  const Graph one_input = graph_of(
      "input %x : f32[4,8]\ninput %y : f32[4,8]\n\n%a = relu(%x) : f32[4,8]\n%b = tanh(%x) : f32[4,8]\n%c = "
      "add(%a, %b) : f32[4,8]\n\noutput %c\n");
  const Graph larger = graph_of(
      "input %x : f32[4,33]\ninput %y : f32[4,33]\n\n%a = relu(%x) : f32[4,33]\n%b = tanh(%y) : "
      "f32[4,33]\n%c = "
      "add(%a, %b) : f32[4,33]\n\noutput %c\n");
  EXPECT_EQ(canonical_hash(a), canonical_hash(same));
  EXPECT_NE(canonical_hash(a), canonical_hash(one_input));
  EXPECT_NE(canonical_hash(a), canonical_hash(larger));
  EXPECT_EQ(similarity(sketch_of(a), sketch_of(same)), 1);
  EXPECT_LT(similarity(sketch_of(a), sketch_of(larger)), 1);
  EXPECT_GT(similarity(sketch_of(a), sketch_of(larger)), 0.3);
}

TEST(Synthesis, EveryFilterRejectsWhatItShould) {
  const std::string io = "input %x : f32[1024,4096]\n\n";
  const Graph fine = graph_of(io + "%y = tanh(%x) : f32[1024,4096]\n\noutput %y\n");
  const std::vector<NamedSketch> none;
  Filters filters({.gpu = *find_gpu("H200"), .benchmark = &none});
  EXPECT_FALSE(Filters::reject_random(fine));
  EXPECT_FALSE(filters.reject_floor(fine));
  EXPECT_FALSE(filters.reject_duplicate(fine));
  EXPECT_FALSE(filters.reject_similar(fine));
  EXPECT_FALSE(Filters::reject_behaviour(fine));
  auto filter_of = [](const std::optional<Rejection>& rejection) {
    return rejection ? std::string(name(rejection->filter)) : "kept";
  };
  EXPECT_EQ(filter_of(filters.reject_duplicate(fine)), "duplicate");
  const std::vector<NamedSketch> benchmark = {{"1/22", sketch_of(fine)}};
  EXPECT_EQ(filter_of(Filters({.gpu = *find_gpu("H200"), .benchmark = &benchmark}).reject_similar(fine)),
            "benchmark");
  const Graph tiny = graph_of("input %x : f32[4]\n\n%y = tanh(%x) : f32[4]\n\noutput %y\n");
  FilterOptions strict{.gpu = *find_gpu("H200"), .least_seconds = 1e-5, .benchmark = &none};
  EXPECT_EQ(filter_of(Filters(strict).reject_floor(tiny)), "floor time");
  const Graph huge =
      graph_of("input %x : f32[65536,262144]\n\n%y = tanh(%x) : f32[65536,262144]\n\noutput %y\n");
  EXPECT_EQ(filter_of(filters.reject_floor(huge)), "floor time");
  EXPECT_EQ(
      filter_of(Filters::reject_behaviour(graph_of(io + "%y = sub(%x, %x) : f32[1024,4096]\n\noutput %y\n"))),
      "constant");
  EXPECT_EQ(filter_of(Filters::reject_behaviour(graph_of(
                io + "%n = neg(%x) : f32[1024,4096]\n%y = log(%n) : f32[1024,4096]\n\noutput %y\n"))),
            "not finite");
  EXPECT_EQ(filter_of(Filters::reject_behaviour(graph_of(
                "input %x : f32[8,8]\ninput %unused : f32[8,8]\n\n%y = tanh(%x) : f32[8,8]\n\noutput %y\n"))),
            "insensitive");
  // In half precision, what FP32 could still hold.
  EXPECT_EQ(filter_of(Filters::reject_behaviour(
                graph_of("input %x : f16[8,8]\n\n%f = full() shape=[] dtype=f16 value=60000.0 : f16[]\n%y = "
                         "mul(%x, %f) : f16[8,8]\n%z = add(%y, %y) : f16[8,8]\n\noutput %z\n"))),
            "not finite");
  const Graph dropout = graph_of(
      "input %x : f32[8]\nseed %seed : i64[]\n\n%r = random(%seed) shape=[8] dtype=f32 "
      "distribution=\"uniform\" stream=0 "
      ": f32[8]\n%y = mul(%x, %r) : f32[8]\n\noutput %y\n");
  EXPECT_EQ(filter_of(Filters::reject_random(dropout)), "random");
}

TEST(Synthesis, TwoHundredTasksAndTheSameOnesAgain) {
  SynthesisOptions options{
      .count = 200, .seed = 11, .filters = {.gpu = *find_gpu("H200"), .most_similar = 0.3}};
  std::vector<std::string> hashes, again;
  std::set<std::string> recipes, dtypes;
  auto report = must(synthesize(options, [&](const Composed& task, const Json& line) -> Result<void> {
    hashes.push_back(line["hash"]);
    recipes.insert(task.recipes.begin(), task.recipes.end());
    dtypes.insert(std::string(name(task.dtype)));
    EXPECT_NE(task.python.find("class Model(nn.Module)"), std::string::npos);
    EXPECT_NE(task.python.find("def get_inputs()"), std::string::npos);
    EXPECT_LE(line["nearest_benchmark"]["similarity"].get<double>(), 0.3);
    const std::string text = print_graph(task.graph);
    auto read = parse_graph(text);
    EXPECT_TRUE(read) << task.name << read.error().text();
    if (read) {
      EXPECT_EQ(canonical_hash(*read), line["hash"].get<std::string>());
    }
    return {};
  }));
  EXPECT_EQ(report.kept, 200);
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), 200U);
  EXPECT_GT(recipes.size(), 25U);
  EXPECT_EQ(dtypes.size(), 3U);
  EXPECT_GT(report.rejected[Filter::floor_time], 0);
  EXPECT_GT(report.rejected[Filter::benchmark], 0);
  EXPECT_LT(report.rejected[Filter::impossible], 5);
  EXPECT_GT(report.splits["train"], 120);
  EXPECT_GT(report.splits["test"], 5);
  options.count = 5;
  ASSERT_TRUE(synthesize(options, [&](const Composed&, const Json& line) -> Result<void> {
    again.push_back(line["hash"]);
    return {};
  }));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), hashes.begin()));
  EXPECT_GE(kernelbench_sketches().size(), 250U);
}

TEST(Synthesis, PyTorchReadsTheTextAsTheGraphSays) {
  auto exporter = Exporter::start();
  if (!exporter) GTEST_SKIP() << exporter.error().message;
  Filters filters({.gpu = *find_gpu("H200"), .exporter = &*exporter});
  int asked = 0;
  for (int64_t number = 0; number < 6; ++number) {
    auto miniature = compose(11, number, Scale::miniature);
    ASSERT_TRUE(miniature);
    const auto rejection = filters.reject_in_pytorch(*miniature);
    EXPECT_FALSE(rejection) << rejection->reason << "\n"
                            << miniature->python << print_graph(miniature->graph);
    ++asked;
    if (number > 0) continue;
    Composed other = *miniature;  // another graph than the text's
    auto stranger = compose(11, 3, Scale::miniature);
    other.graph = stranger->graph;
    EXPECT_TRUE(filters.reject_in_pytorch(other));
    other = *miniature;
    other.python = "import nothing_of_this_name\n";
    EXPECT_EQ(filters.reject_in_pytorch(other)->filter, Filter::not_in_pytorch);
  }
  EXPECT_EQ(asked, 6);
}

TEST(Synthesis, SketchesAreReadBackAndDamageIsNamed) {
  const NamedSketch one{"3/9", {1, 2, 0xfffffff0}};
  auto read = must(read_sketches("# a comment\n" + sketch_line(one) + "\n"));
  EXPECT_EQ(read.at(0).name, "3/9");
  EXPECT_EQ(read.at(0).sketch, one.sketch);
  EXPECT_FALSE(read_sketches("3/9 0000000\n"));
  EXPECT_FALSE(read_sketches("3/9 0000000x\n"));
}

}  // namespace
}  // namespace stitch::learn
