// What each technique writes: testdata/golden/TECHNIQUE.cu has a graph as its first comment, then the source
// of its region's file. STITCHCUDA_UPDATE_GOLDEN=1 writes the sources anew; read the difference before it is
// committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/loops/kernel.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/steps.h"
#include "program/fold.h"
#include "program/program_text.h"

namespace stitch::code {
namespace {

const fs::path golden = STITCH_SOURCE_DIR "/src/code/testdata/golden";

struct Asked {
  std::string comment;  // the graph as the file has it
  Graph graph;
  plan::Region region;  // all of it
};
// The graph in a file's first comment.
Result<Asked> read_graph(const fs::path& file) {
  Asked asked;
  STITCH_TRY(const std::string text, read_file(file));
  std::string graph;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with("//")) break;
    asked.comment += line + "\n";
    graph += line.substr(line.starts_with("// ") ? 3 : 2) + "\n";
  }
  STITCH_TRY(asked.graph, parse_graph(graph));
  return asked;
}
Result<Asked> ask(const plan::Technique& technique, const std::string& graph_of) {
  STITCH_TRY(Asked asked, read_graph(golden / (graph_of + ".cu")));
  asked.region.name = "golden";
  asked.region.technique = &technique;
  for (size_t i = 0; i < asked.graph.nodes.size(); ++i) asked.region.nodes.push_back(static_cast<int32_t>(i));
  for (ValueId id : asked.graph.leaves())
    if (!asked.graph[id].has_data()) asked.region.reads.push_back(id);
  asked.region.writes = asked.graph.outputs;
  return asked;
}

const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

Result<std::string> written(Asked& asked) {
  const plan::Context context(asked.graph, h200(), Numerics::standard);
  plan::Region& region = asked.region;
  STITCH_CHECK(region.technique->accepts(context, region));
  region.offer = region.technique->offers(context, region).at(0);
  STITCH_TRY(RegionCode code, technique_of(region).write(request_alone(context, region)));
  EXPECT_FALSE(code.declaration.empty());
  std::string out = code.includes + "\n" + code.source;
  if (!code.members.empty()) out += "\n// When the program is created:\n";
  for (const Member& member : code.members)
    out += format("{} {};\n{}\n", member.type, member.name, member.create);
  return fold(out);
}

// The file says what was made, or is made to.
void compare(const std::string& made, const fs::path& file) {
  if (std::getenv("STITCHCUDA_UPDATE_GOLDEN")) {
    auto saved = write_file(file, made);
    ASSERT_TRUE(saved) << saved.error().text();
  }
  auto expected = read_file(file);
  ASSERT_TRUE(expected) << expected.error().text();
  EXPECT_EQ(made, *expected) << "STITCHCUDA_UPDATE_GOLDEN=1 code_test --gtest_filter='*Golden*' accepts it";
}

// Those that write by themselves: what takes a source has nothing of its own to show.
std::vector<const plan::Technique*> all_techniques() {
  std::vector<const plan::Technique*> out;
  for (const plan::Technique* each : catalogue().all())
    if (!each->takes_source()) out.push_back(each);
  return out;
}

class Golden : public testing::TestWithParam<const plan::Technique*> {};

TEST_P(Golden, SourceIsTheOneThatWasRead) {
  const std::string name(GetParam()->name());
  ASSERT_TRUE(fs::exists(golden / (name + ".cu")))
      << "every technique has a golden source: write a small graph for " << name;
  auto asked = ask(*GetParam(), name);
  ASSERT_TRUE(asked) << asked.error().text();
  auto source = written(*asked);
  ASSERT_TRUE(source) << source.error().text();
  for (const std::string& line : split(*source, '\n')) EXPECT_LE(line.size(), generated_columns) << line;
  compare(asked->comment + "\n" + *source, golden / (name + ".cu"));
}

// A program from its first line to its last: what a reader of a shipped folder sees.
TEST(GoldenProgram, IsTheOneThatWasRead) {
  const fs::path file = golden.parent_path() / "program.cu";
  auto asked = read_graph(file);
  ASSERT_TRUE(asked) << asked.error().text();
  const plan::Context context(asked->graph, h200(), Numerics::standard);
  auto plan = plan::make_plan(context, catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  auto program = write_program(context, *plan);
  ASSERT_TRUE(program) << program.error().text();
  compare(asked->comment + "\n" + program_text(program->sources), file);
}

// What each technique says to the graphs of its kind: accepted, or why not.
TEST(GoldenFiles, SayWhoAcceptsWhat) {
  std::string out;
  for (const plan::Technique* each : all_techniques()) {
    out += format("{}\n", each->name());
    for (const plan::Technique* other : all_techniques()) {
      if (each->kind() != other->kind()) continue;
      auto asked = ask(*each, std::string(other->name()));
      ASSERT_TRUE(asked) << asked.error().text();
      auto accepted = each->accepts({asked->graph, h200(), Numerics::standard}, asked->region);
      out += format("  {}: {}\n", other->name(), accepted ? "accepted" : accepted.error().text());
    }
  }
  compare(out, golden / "accepted.txt");
}

// Nothing is left of a technique that is no more.
TEST(GoldenFiles, BelongToTechniques) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (entry.path().filename() == "accepted.txt") continue;
    EXPECT_EQ(entry.path().extension(), ".cu") << entry.path();
    EXPECT_TRUE(catalogue().find(entry.path().stem().string())) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, all_techniques().size());
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(all_techniques()), [](const auto& each) {
  std::string name(each.param->name());
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace stitch::code
