#include "agents/bench.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

namespace stitch::agents {
namespace {

TEST(Bench, ReadsWholeLinesOfAnEarlierRun) {
  auto folder = ScratchFolder::create("stitch-bench");
  ASSERT_TRUE(folder);
  fs::path file = folder->path() / "tasks.jsonl";
  EXPECT_TRUE(read_records(file).empty());
  ASSERT_TRUE(write_file(file, "{\"key\": \"a\", \"passed\": true}\n{\"key\": \"b\", \"passed\": tr"));
  BenchRecords records = read_records(file);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.at("a")->at("passed"), true);
}

// A run of a few tasks leaves the results of the others as they are.
TEST(Bench, KnowsTheTasksOfEarlierRuns) {
  auto folder = ScratchFolder::create("stitch-bench");
  ASSERT_TRUE(folder);
  const fs::path file = folder->path() / "tasks.jsonl";
  EXPECT_TRUE(records_of_others(file, {}).empty());
  ASSERT_TRUE(write_file(file, R"({"key": "1", "task": "a", "passed": false}
{"key": "2", "task": "b", "passed": true}
{"key": "3", "task": "a", "passed": true}
{"key": "4", "task": "c", "passed": true}
{"key": "5", "task": "d", "pas)"));
  const auto others = records_of_others(file, {{"b.py", "b", ""}});
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0]->at("key"), "3") << "the latest of its task";
  EXPECT_EQ(others[1]->at("task"), "c");
}

TEST(Bench, RecordsWhatACrashAndAVerdictSay) {
  const BenchTask task{"level1/1_A.py", "level1/1_A", "level1"};
  Json crashed = record_of(task, to_json(work_error("crashed", "it ended with exit code 139")));
  EXPECT_EQ(crashed["passed"], false);
  EXPECT_EQ(crashed["code"], "crashed");

  Json answer = {{"seconds", 3.0},
                 {"seconds_a_call", 0.5},
                 {"floor_seconds", 0.25},
                 {"ledger", {{"times", "measured"}}}};
  answer["ledger"]["steps"] = {{{"step", "gates"}, {"kept", false}, {"reason", "wrong"}},
                               {{"step", "plain"}, {"kept", true}}};
  answer["verdict"] = {{"verdict", "passed"}, {"class", "default"}};
  answer["verdict"]["timing"]["baselines"] = {{{"side", "eager"}, {"seconds", 2.0}},
                                              {{"side", "compile"}, {"unavailable", "it does not compile"}}};
  answer["verdict"]["gates"] = {{{"gate", "profile"}, {"evidence", {{"kernels", Json::array()}}}}};
  for (int i = 0; i < 20; ++i)
    answer["verdict"]["gates"][0]["evidence"]["kernels"].push_back({{"name", "k"}, {"nanoseconds", i}});
  Json record = record_of(task, answer);
  EXPECT_EQ(record["passed"], true);
  EXPECT_EQ(record["baselines"], (Json{{"eager", 2.0}}));
  EXPECT_EQ(record["steps"][0]["reason"], "wrong");
  EXPECT_EQ(record["kernels"].size(), 8u);
  EXPECT_EQ(record["kernels"][0]["nanoseconds"], 19);
}

TEST(Bench, TellsOnceWhatIsToDo) {
  auto folder = ScratchFolder::create("stitch-bench");
  ASSERT_TRUE(folder);
  BenchOptions options{.tasks = {{"", "a", ""}, {"", "b", ""}}, .out = folder->path()};
  std::vector<size_t> told;
  options.before_all = [&](const std::vector<BenchTask>& todo) { told.push_back(todo.size()); };
  options.optimise = [](const BenchTask& task) { return Json{{"task", task.name}, {"passed", true}}; };
  ASSERT_TRUE(run_bench(options));
  options.tasks.push_back({"", "c", ""});
  ASSERT_TRUE(run_bench(options));
  ASSERT_TRUE(run_bench(options));
  EXPECT_EQ(told, (std::vector<size_t>{2, 1})) << "nothing is told where nothing is to do";
}

TEST(Bench, TriesAgainAloneWhatOthersMayHaveDone) {
  auto folder = ScratchFolder::create("stitch-bench");
  ASSERT_TRUE(folder);
  BenchOptions options{.out = folder->path(), .jobs = 2};
  for (const char* name : {"right", "wrong", "large", "slow"}) options.tasks.push_back({"", name, ""});
  std::mutex lock;
  std::map<std::string, int> calls;
  std::vector<std::string> done;
  options.optimise = [&](const BenchTask& task) {
    std::lock_guard hold(lock);
    const bool first = ++calls[task.name] == 1;
    if (task.name == "wrong") return record_of(task, to_json(user_error("optimize", "no program passed")));
    if (task.name == "large" && first)
      return record_of(task, to_json(work_error("optimize", "CUDA out of memory. Tried to allocate 8 GiB")));
    if (task.name == "slow") return record_of(task, to_json(work_error("hung", "still running after 240 s")));
    return Json{{"task", task.name}, {"passed", true}};
  };
  options.on_done = [&](const BenchTask& task, const Json&) { done.push_back(task.name); };
  auto run = run_bench(options);
  ASSERT_TRUE(run);
  EXPECT_EQ(calls, (std::map<std::string, int>{{"right", 1}, {"wrong", 1}, {"large", 2}, {"slow", 2}}));
  EXPECT_EQ(done.size(), 4u);
  EXPECT_EQ(run->records[2]->at("passed"), true);
  EXPECT_EQ(run->records[3]->at("code"), "hung");
  EXPECT_EQ(read_records(folder->path() / "tasks.jsonl").size(), 4u);
}

}  // namespace
}  // namespace stitch::agents
