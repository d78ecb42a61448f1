// What each technique writes: testdata/golden/TECHNIQUE.graph in, TECHNIQUE.cu out, as a region's file has
// it. STITCHCUDA_UPDATE_GOLDEN=1 writes the sources anew; read the difference before it is committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/loops/kernel.h"
#include "graph/text.h"
#include "program/fold.h"

namespace stitch::code {
namespace {

const fs::path golden = STITCH_SOURCE_DIR "/src/code/testdata/golden";

Result<std::string> written(const plan::Technique& technique, const Graph& graph) {
  static const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  plan::Region region;
  region.name = "golden";
  region.technique = &technique;
  for (size_t i = 0; i < graph.nodes.size(); ++i) region.nodes.push_back(static_cast<int32_t>(i));
  for (ValueId id : graph.leaves())
    if (!graph[id].has_data()) region.reads.push_back(id);
  region.writes = graph.outputs;
  STITCH_CHECK(technique.accepts(context, region));
  region.offer = technique.offers(context, region).at(0);
  STITCH_TRY(RegionCode code, technique_of(region).write(loops::plain_request(context, region)));
  EXPECT_FALSE(code.declaration.empty());
  std::string out = code.includes + "\n" + code.source;
  if (!code.members.empty()) out += "\n// When the program is created:\n";
  for (const Member& member : code.members)
    out += format("{} {};\n{}\n", member.type, member.name, member.create);
  return fold(out);
}

std::vector<const plan::Technique*> all_techniques() {
  const auto all = catalogue().all();
  return {all.begin(), all.end()};
}

class Golden : public testing::TestWithParam<const plan::Technique*> {};

TEST_P(Golden, SourceIsTheOneThatWasRead) {
  const std::string name(GetParam()->name());
  auto text = read_file(golden / (name + ".graph"));
  ASSERT_TRUE(text) << "every technique has a golden source: write a small graph for " << name << " to "
                    << golden / (name + ".graph");
  auto graph = parse_graph(*text);
  ASSERT_TRUE(graph) << graph.error().text();
  auto source = written(*GetParam(), *graph);
  ASSERT_TRUE(source) << source.error().text();
  for (const std::string& line : split(*source, '\n')) EXPECT_LE(line.size(), generated_columns) << line;
  const fs::path file = golden / (name + ".cu");
  if (std::getenv("STITCHCUDA_UPDATE_GOLDEN")) {
    auto saved = write_file(file, *source);
    ASSERT_TRUE(saved) << saved.error().text();
  }
  auto expected = read_file(file);
  ASSERT_TRUE(expected) << expected.error().text();
  EXPECT_EQ(*source, *expected)
      << "STITCHCUDA_UPDATE_GOLDEN=1 code_test --gtest_filter='*Golden*' accepts it";
}

// Nothing is left of a technique that is no more.
TEST(GoldenFiles, BelongToTechniques) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(golden)) {
    const std::string extension = entry.path().extension().string();
    EXPECT_TRUE(extension == ".graph" || extension == ".cu") << entry.path();
    EXPECT_TRUE(catalogue().find(entry.path().stem().string())) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 2 * catalogue().all().size());
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(all_techniques()), [](const auto& each) {
  std::string name(each.param->name());
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace stitch::code
