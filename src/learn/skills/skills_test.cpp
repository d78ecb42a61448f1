#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "learn/skills/regions.h"
#include "learn/skills/rows.h"
#include "learn/synthesis/synthesize.h"

namespace stitch::learn {
namespace {

// A few tasks and their rows, in a folder of its own.
struct Made {
  ScratchFolder folder = *ScratchFolder::create("learn");
  std::vector<SkillRow> rows;
  fs::path file = folder.path() / "skills.jsonl";
};
Made make() {
  Made out;
  SynthesisOptions options{.count = 6, .seed = 5, .filters = {.gpu = *find_gpu("H200")}};
  EXPECT_TRUE(synthesize_into(out.folder.path(), options));
  auto rows = rows_of_tasks(out.folder.path(), *find_gpu("H200"));
  EXPECT_TRUE(rows) << rows.error().text();
  out.rows = *std::move(rows);
  SkillRow improved = out.rows[0];
  improved.skill = rubric::Skill::from_feedback;
  improved.before = "int stitch_run();  // slow";
  improved.before_outcome = "passed";
  improved.feedback = "memory: make it faster";
  improved.completion = "// a better one";
  improved.reward = 0.7;
  out.rows.push_back(improved);
  std::string text;
  for (size_t i = 0; i < out.rows.size(); ++i)
    text += line_text(to_json(out.rows[i], static_cast<int64_t>(i))) + "\n";
  EXPECT_TRUE(write_file(out.file, text));
  return out;
}

TEST(Skills, RowsHaveWhatEnginesRead) {
  const Made made = make();
  auto rows = must(read_rows(made.file));
  ASSERT_EQ(rows.size(), 7U);
  const Json& first = rows.front();
  EXPECT_EQ(first["data_source"], "stitchcuda/from_scratch");
  EXPECT_NE(first["prompt"][0]["content"].get<std::string>().find("class Model(nn.Module)"),
            std::string::npos);
  EXPECT_EQ(first["reward_model"]["ground_truth"], first["label"]);
  EXPECT_NE(first["prompt"][0]["content"].get<std::string>().find("R\"manifest("), std::string::npos);
  // An engine that hands over the label alone has all that makes it the second skill.
  const Json& change = rows.back();
  EXPECT_EQ(change["data_source"], "stitchcuda/from_feedback");
  const Json label = must(parse_json(change["label"].get<std::string>()));
  EXPECT_EQ(label["task"], change["answer"]);
  EXPECT_EQ(label["before"], made.rows.back().before);
  EXPECT_EQ(change["extra_info"]["before"], label["before"]);
  EXPECT_EQ(change["extra_info"]["feedback"], label["feedback"]);
  // One schema: the same keys in every row.
  for (const Json& row : rows)
    for (const auto& [key, value] : first.items()) {
      ASSERT_TRUE(row.contains(key));
      EXPECT_EQ(row[key].type(), value.type()) << key;
    }
  // Damage is named by its line.
  std::string text = *read_file(made.file);
  ASSERT_TRUE(write_file(made.file, text + "{\"prompt\": []}\n"));
  EXPECT_EQ(read_rows(made.file).error().where, made.file.string() + ":8");
  Json broken = first;
  broken["extra_info"]["reward"] = nullptr;
  EXPECT_FALSE(check_row(broken));
  broken = change;
  broken["extra_info"]["before"] = "";
  EXPECT_FALSE(check_row(broken)) << "it would be scored as another skill";
}

// The reader behind TRL's and verl's data sets, where it is installed.
TEST(Skills, RowsGoThroughTheReaderOfDatasets) {
  const Made made = make();
  const char* python = std::getenv("STITCHCUDA_PYTHON");
  const std::string program =
      "import json, sys\n"
      "try:\n    import datasets\nexcept ImportError:\n    sys.exit(77)\n"
      "rows = datasets.load_dataset('json', data_files=sys.argv[1], split='train', cache_dir=sys.argv[2])\n"
      "lines = [json.loads(line) for line in open(sys.argv[1])]\n"
      "assert len(rows) == len(lines)\n"
      "for row, line in zip(rows, lines):\n    assert row == line, (row, line)\n";
  auto ran =
      run({{python ? python : "python3", "-c", program, made.file.string(), made.folder.path().string()},
           {},
           std::chrono::seconds(120)});
  if (!ran) GTEST_SKIP() << "no Python: " << ran.error().message;
  if (ran->exit_code == 77) GTEST_SKIP() << "the package datasets is not installed";
  EXPECT_EQ(ran->exit_code, 0) << ran->error_tail;
}

TEST(Skills, LeaksAreFound) {
  const auto a = compose(5, 0, Scale::full), b = compose(5, 1, Scale::full);
  ASSERT_TRUE(a && b);
  auto known = [](const Composed& one) {
    return KnownGraph{one.name, canonical_hash(one.graph), sketch_of(one.graph)};
  };
  EXPECT_TRUE(leaks({known(*a)}, {known(*b)}, 0.9).empty());
  const auto found = leaks({known(*a), known(*b)}, {known(*b)}, 0.9);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].training, b->name);
  EXPECT_EQ(found[0].similarity, 1);
  // By the sketch alone.
  EXPECT_EQ(leaks({known(*b)}, {{"sketch", "", sketch_of(b->graph)}}, 0.9).size(), 1U);
  // What has no graph at all can't be told.
  EXPECT_TRUE(leaks({{"run", "", {}}}, {known(*b)}, 0).empty());
}

// Two layers, the second of another shape: a region with a weight, one without.
constexpr std::string_view two_regions =
    "graph \"two\"\ninput %x : f32[24,40]\nparameter %w : f32[16,40]\nparameter %g : f32[16]\n"
    "parameter %b : f32[16]\n%y = linear(%x, %w) : f32[24,16]\n%s = tanh(%y) : f32[24,16]\n"
    "%t = mul(%s, %y) : f32[24,16]\n%z = layer_norm(%t, %g, %b) : f32[24,16]\noutput %z\nend\n";

TEST(RegionRows, AreOfBothSkillsAndGoOnWhereTheyWereEnded) {
  const ScratchFolder scratch = *ScratchFolder::create("regions");
  const fs::path graph = scratch.path() / graph_file;
  must(write_file(graph, two_regions));
  RegionRowsOptions options{.out = scratch.path() / "rows", .gpu = *find_gpu("H200")};
  options.prompts = must(prompts::with_folder(STITCH_SOURCE_DIR "/prompts/compact"));
  fs::create_directories(options.out);
  // Judged elsewhere (serve_test): here what is known is right, and what is changed is wrong.
  std::set<std::string> known;
  options.judge = [&](const fs::path& task, const std::string& name, const std::string& source) {
    const Graph own = must(load_graph(task));
    EXPECT_TRUE(load_graph_folder(task.parent_path())->weights.has_value()) << "both have weights";
    for (const KnownAnswer& each :
         must(known_answers(must(plan_task(name, own, options.gpu, Numerics::standard)), 4)))
      known.insert(each.source);
    const bool right = known.contains(source);
    return Json{{"label", right ? "correct, not timed" : "wrong"},
                {"reward", right ? 0.3 : 0.1},
                {"counted", true},
                {"feedback", right ? "It is correct." : "correctness: wrong"}};
  };
  const RegionRowsReport report = must(rows_of_regions({graph}, options));
  EXPECT_GE(report.regions, 1) << report.last_refused;
  EXPECT_EQ(report.without_answer, 0) << report.last_refused;
  const fs::path file = options.out / "rows.jsonl";
  const std::vector<Json> rows = must(read_rows(file));  // each is a row
  ASSERT_EQ(static_cast<int64_t>(rows.size()), report.rows);
  std::map<std::string, int> skills;
  for (const Json& row : rows) {
    const std::string skill = word(row["extra_info"], "skill"), before = word(row["extra_info"], "before");
    const std::string prompt = word(row["prompt"][0], "content"), answer = word(row, "completion");
    ++skills[skill];
    EXPECT_NE(answer.find("```cuda\n"), std::string::npos);
    EXPECT_NE(answer.find("StitchStatus enqueue_"), std::string::npos) << answer;
    EXPECT_NE(prompt.find("cudaStream_t stream"), std::string::npos);
    EXPECT_EQ(before.empty(), skill == "from scratch");
    EXPECT_EQ(prompt.find("to start from") == std::string::npos, before.empty()) << prompt;
  }
  EXPECT_GT(skills["from scratch"], 0);
  EXPECT_GT(skills["from feedback"], 0);
  // Ended in the middle of a line: it goes on, and asks nothing twice.
  must(write_file(file, must(read_file(file)) + "{\"cut"));
  const RegionRowsReport again = must(rows_of_regions({graph}, options));
  EXPECT_EQ(again.known, report.regions);
  EXPECT_EQ(again.judged, 0);
  EXPECT_EQ(must(read_rows(file)).size(), rows.size());
}

}  // namespace
}  // namespace stitch::learn
