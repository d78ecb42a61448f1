// synth, skills, train and --coder-weights, one after the other as a user has them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/testdata/ran.h"
#include "cli/testdata/sample_store.h"
#include "store/database.h"

namespace stitch {
namespace {

TEST(LearnCommands, FromTasksToAPlanWithLearnedChoices) {
  const auto folder = ScratchFolder::create("learn");
  const std::string tasks = (folder->path() / "tasks").string(),
                    rows = (folder->path() / "skills.jsonl").string(),
                    coder = (folder->path() / "coder").string();
  const Json made =
      stitchcuda({"synth", "-n", "12", "-o", tasks, "--no-torch", "--gpu", "H200", "--json"}).json();
  EXPECT_EQ(made["kept"], 12);
  EXPECT_EQ(made["rejected"].size(), 11U);
  // A folder of other contents is not overwritten.
  fs::create_directories(folder->path() / "mine");
  ASSERT_TRUE(write_file(folder->path() / "mine" / "notes.txt", "mine"));
  EXPECT_EQ(stitchcuda({"synth", "-n", "1", "-o", (folder->path() / "mine").string(), "--no-torch"}).code, 2);

  EXPECT_EQ(stitchcuda({"skills", "build", tasks, "-o", rows, "--gpu", "H200", "--json"}).json()["rows"], 12);
  EXPECT_EQ(stitchcuda({"skills", "stats", rows, "--json"}).json()["rows"], 12);
  EXPECT_EQ(stitchcuda({"skills", "check", rows}).code, 0);
  // Every task is in itself.
  const Ran leaks = stitchcuda({"skills", "check", rows, "--benchmark", tasks + "/graphs", "--json"});
  EXPECT_EQ(leaks.code, 1);
  EXPECT_GE(leaks.json()["leaks"].size(), 12U);

  std::vector<std::string> train = {"train", tasks,    "-o", coder,   "--members", "2",     "--epochs",
                                    "3",     "--fold", "0",  "--gpu", "H200",      "--json"};
  const Ran first_run = stitchcuda(train);
  ASSERT_EQ(first_run.code, 0) << first_run.out << first_run.err;
  const Json trained = first_run.json();
  EXPECT_EQ(trained["trained"]["epochs"], 3);
  EXPECT_GT(trained["held_out"]["problems"], 0);
  EXPECT_EQ(split(trim(*read_file(fs::path(coder) / "curve.jsonl")), '\n').size(), 3U);
  EXPECT_EQ(trained["curve"].size(), 3U);
  EXPECT_NE(read_file(fs::path(coder) / "index.html")->find("\"curve\":[{"), std::string::npos);
  // A run that is over says the same again; another one's settings are refused.
  EXPECT_EQ(stitchcuda(train).json()["held_out"], trained["held_out"]);
  train.insert(train.end(), {"--seed", "5"});
  const Ran refused = stitchcuda(train);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.out.find("other settings"), std::string::npos);

  std::string first;
  for (const auto& entry : fs::directory_iterator(tasks + "/graphs")) first = entry.path().string();
  const Ran planned =
      stitchcuda({"plan", first, "--coder-weights", coder + "/coder.safetensors", "--gpu", "H200", "--json"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  const Ran wrong = stitchcuda({"plan", first, "--coder-weights", coder + "/table.safetensors"});
  EXPECT_EQ(wrong.code, 2);
}

// Of an older version's features they could not be read.
TEST(LearnCommands, WeightsThatShip) {
  const std::string graph = std::string(STITCH_SOURCE_DIR) + "/src/verify/testdata/tasks/product/graph";
  const Ran planned = stitchcuda({"plan", graph, "--coder-weights", "sm_90", "--gpu", "H200", "--json"});
  EXPECT_EQ(planned.code, 0) << planned.out << planned.err;
  const Ran wrong = stitchcuda({"plan", graph, "--coder-weights", "sm_10", "--gpu", "H200"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("or sm_90"), std::string::npos) << wrong.err;
}

TEST(LearnCommands, RowsOfRecordedRuns) {
  if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
  const auto folder = ScratchFolder::create("learn");
  const fs::path file = folder->path() / "runs.db", rows = folder->path() / "skills.jsonl";
  {
    auto opened = must(store::RunStore::open(file));
    add_sample_run(opened);
  }
  const Ran built =
      stitchcuda({"skills", "build", "--runs", "--store", file.string(), "-o", rows.string(), "--json"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  EXPECT_EQ(built.json()["skills"].value("from feedback", 0), 3);  // two gains and a repair
  EXPECT_EQ(stitchcuda({"skills", "stats", rows.string()}).code, 0);
  // What the runs were about is in the rows: a check can look at all of them.
  const Json checked = stitchcuda({"skills", "check", rows.string(), "--json"}).json();
  EXPECT_EQ(checked["without_a_graph"], 0) << checked.dump();
}

TEST(LearnCommands, WithoutAGpuNothingIsRun) {
  const auto folder = ScratchFolder::create("learn");
  const Ran said = stitchcuda(
      {"train", "-o", (folder->path() / "coder").string(), "--synthetic", "2", "--reward", "measured"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("nothing to train on"), std::string::npos) << said.err;
}

}  // namespace
}  // namespace stitch
