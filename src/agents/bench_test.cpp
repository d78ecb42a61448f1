#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "agents/bench.h"
#include "base/testdata/must.h"

namespace stitch::agents {

namespace {

TEST(Bench, ReadsWholeLinesOfAnEarlierRun) {
  auto folder = must(ScratchFolder::create("stitch-bench"));
  fs::path file = folder.path() / "tasks.jsonl";
  EXPECT_TRUE(read_records(file).empty());
  ASSERT_TRUE(write_file(file, "{\"key\": \"a\", \"passed\": true}\n{\"key\": \"b\", \"passed\": tr"));
  BenchRecords records = read_records(file);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.at("a")->at("passed"), true);
}

// A run of a few tasks leaves the results of the others as they are.
TEST(Bench, KnowsTheTasksOfEarlierRuns) {
  auto folder = must(ScratchFolder::create("stitch-bench"));
  const fs::path file = folder.path() / "tasks.jsonl";
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

// One task where a model made a region faster, one where it failed and declined.
TEST(Bench, CountsWhatModelsDidAndTook) {
  auto step = [](bool kept, double before, double after, std::vector<std::string> outcomes) {
    Json out = {{"step", "write y"}, {"kept", kept}, {"before_seconds", before}, {"after_seconds", after}};
    for (const std::string& outcome : outcomes)
      out["tree"].push_back({{"outcome", outcome}, {"author", "llm:test/scripted"}});
    return out;
  };
  auto answer = [](Json steps) {
    return Json{{"seconds", 1.0},
                {"ledger", {{"times", "measured"}, {"steps", std::move(steps)}}},
                {"verdict", {{"verdict", "passed"}, {"class", "default"}}},
                {"llm",
                 {{"total",
                   {{"requests", 2},
                    {"usage", {{"input", 100}, {"output", 20}}},
                    {"dollars", 0.5},
                    {"seconds", 3.0},
                    {"unpriced", 0}}}}}};
  };
  const Json builtin = {{"step", "plan"}, {"kept", true}};
  const Json won = record_of({"", "a", ""}, answer({builtin, step(true, 4, 1, {"wrong", "better"})}));
  const Json lost = record_of(
      {"", "b", ""}, answer({builtin, step(false, 4, 5, {"not better"}), step(false, 4, 0, {"declined"})}));
  EXPECT_EQ(won["models"]["llm:test/scripted"]["gain"], 4.0);
  const Json summary =
      summarise({std::make_shared<const Json>(won), std::make_shared<const Json>(lost), nullptr});
  const Json& model = summary["models"]["llm:test/scripted"];
  EXPECT_EQ(model["tasks"], 2);
  EXPECT_EQ(model["improved"], 1);
  EXPECT_EQ(model["steps"], 3);
  EXPECT_EQ(model["kept"], 1);
  EXPECT_DOUBLE_EQ(model["gain"].get<double>(), 2);
  EXPECT_EQ(model["outcomes"].dump(), R"({"better":1,"declined":1,"not better":1,"wrong":1})");
  EXPECT_EQ(summary["llm"]["tokens"], 240);
  EXPECT_EQ(summary["llm"]["dollars"], 1.0);
}

TEST(Bench, TellsOnceWhatIsToDo) {
  auto folder = must(ScratchFolder::create("stitch-bench"));
  BenchOptions options{.tasks = {{"", "a", ""}, {"", "b", ""}}, .out = folder.path()};
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
  auto folder = must(ScratchFolder::create("stitch-bench"));
  BenchOptions options{.out = folder.path(), .jobs = 2};
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
  EXPECT_EQ(read_records(folder.path() / "tasks.jsonl").size(), 4u);
}

std::shared_ptr<const Json> record(const char* task, bool passed, double seconds, Json baselines) {
  return std::make_shared<const Json>(Json{{"task", task},
                                           {"group", "level1"},
                                           {"passed", passed},
                                           {"code", passed ? "" : "correctness: wrong"},
                                           {"times", "measured"},
                                           {"seconds_a_call", seconds},
                                           {"floor_seconds", 1.0},
                                           {"baselines", std::move(baselines)}});
}

TEST(BenchSummary, CountsFailuresAgainstFast) {
  Json summary = summarise({record("level1/1_A", true, 2, {{"eager", 8.0}, {"compile", 6.0}}),
                            record("level1/2_B", true, 4, {{"eager", 4.0}}),
                            record("level1/3_C", false, 0, Json::object()), nullptr});
  EXPECT_EQ(summary["all"]["passed"], 2);
  EXPECT_EQ(summary["all"]["compared"], 3);
  EXPECT_EQ(summary["not_done"], 1);
  EXPECT_DOUBLE_EQ(summary["all"]["fast_1"], 1.0 / 3) << "as fast as the best is not faster";
  EXPECT_DOUBLE_EQ(summary["all"]["fast_2"], 1.0 / 3);
  EXPECT_DOUBLE_EQ(summary["all"]["fast_3"], 0);
  EXPECT_DOUBLE_EQ(summary["all"]["speedup"]["best"]["mean"], 2);
  EXPECT_DOUBLE_EQ(summary["all"]["speedup"]["eager"]["geometric_mean"], 2);
  EXPECT_EQ(summary["tasks"][0]["best_baseline"], "compile");
  EXPECT_EQ(summary["failures"]["correctness: wrong"], 1);
  EXPECT_EQ(summary["furthest"][0]["task"], "level1/2_B");
}

TEST(BenchSummary, ScoresAgainstTheFloor) {
  Json no_floor = *record("level1/5_E", true, 2, {{"eager", 8.0}});
  no_floor["floor_seconds"] = 0.0;
  Json estimated = *record("level1/8_H", true, 2, {{"eager", 8.0}});
  estimated["times"] = "estimated";
  auto shared = [](const Json& one) { return std::make_shared<const Json>(one); };
  const Json summary = summarise(
      {record("level1/1_A", true, 1, {{"eager", 8.0}, {"compile", 4.0}}),
       record("level1/2_B", true, 4, {{"eager", 4.0}}), record("level1/3_C", true, 7, {{"eager", 4.0}}),
       record("level1/4_D", false, 0, Json::object()), shared(no_floor),
       record("level1/6_F", true, 0.5, {{"eager", 4.0}}), record("level1/7_G", true, 2, {{"eager", 1.0}}),
       shared(estimated), record("level1/9_I", true, 2, Json::object())});
  const Json& tasks = summary["tasks"];
  EXPECT_DOUBLE_EQ(tasks[0]["score"], 1) << "at the floor";
  EXPECT_DOUBLE_EQ(tasks[1]["score"], 0.5) << "as fast as the best baseline";
  EXPECT_DOUBLE_EQ(tasks[2]["score"], 1.0 / 3);
  EXPECT_FALSE(tasks[3].contains("score"));
  EXPECT_EQ(tasks[4]["no_score"], "no floor is known");
  EXPECT_EQ(tasks[5]["no_score"], "it is faster than its floor");
  EXPECT_EQ(tasks[6]["no_score"], "the best baseline is at the floor");
  EXPECT_FALSE(tasks[7].contains("score")) << "an estimate is no measurement";
  EXPECT_EQ(tasks[8]["no_score"], "no baseline was measured");
  const Json& all = summary["all"];
  EXPECT_DOUBLE_EQ(all["score"]["mean"], (1 + 0.5 + 1.0 / 3) / 4) << "a failure counts as 0";
  EXPECT_EQ(all["score"]["tasks"], 4);
  EXPECT_EQ(all["unscored"], 4);
  EXPECT_EQ(all["below_floor"], 1);
}

TEST(BenchSummary, TellsWhereTheSecondsWent) {
  auto took = [](const char* task, double seconds, Json phases, Json waiting) {
    Json one = *record(task, true, 1, Json::object());
    one.update(Json{{"seconds", seconds}, {"time", {{"phases", phases}, {"waiting", waiting}}}});
    return std::make_shared<const Json>(std::move(one));
  };
  const Json summary =
      summarise({took("a", 10, {{"import", 4.0}, {"gate: build", 6.0}}, Json::object()),
                 took("b", 30, {{"import", 6.0}, {"roundings", 1.0}}, {{"to have the GPU alone", 8.0}}),
                 took("c", 20, {{"import", 5.0}, {"gate: build", 2.0}}, Json::object()), nullptr});
  EXPECT_EQ(summary["optimising"]["median"], 20);
  EXPECT_EQ(summary["optimising"]["most"], 30);
  EXPECT_EQ(summary["optimising"]["phases"]["import"], 5);
  EXPECT_EQ(summary["optimising"]["phases"]["gate: build"], 2) << "one of them built nothing";
  EXPECT_EQ(summary["optimising"]["waiting"]["to have the GPU alone"], 0);
  EXPECT_FALSE(summarise({}).contains("optimising"));
}

TEST(BenchSummary, TellsWhoDidTheWork) {
  auto labelled = [](bool passed, const char* code, const char* honesty) {
    Json one = *record("level1/1_A", passed, 1, Json::object());
    one["code"] = code;
    if (*honesty) one["honesty"] = honesty;
    return std::make_shared<const Json>(std::move(one));
  };
  const Json labels = summarise({labelled(true, "", "clean"), labelled(true, "", "degenerate"),
                                 labelled(false, "regions: inconclusive", ""),
                                 labelled(false, "timing: forged_time", "full hack"),
                                 labelled(false, "correctness: wrong", "")})["all"]["labels"];
  for (const char* label : {"clean", "degenerate", "full hack", "inconclusive"}) {
    EXPECT_EQ(labels[label]["count"], 1) << label;
    EXPECT_DOUBLE_EQ(labels[label]["rate"], 0.2) << label;
  }
  EXPECT_EQ(labels["partial hack"]["count"], 0);
}

TEST(BenchSummary, KnownBaselinesFillWhatWasNotMeasured) {
  auto folder = must(ScratchFolder::create("stitch-known"));
  fs::path file = folder.path() / "known.jsonl";
  ASSERT_TRUE(write_file(file,
                         "{\"level\": 1, \"name\": \"1_A\", \"eager_ms\": 8000, \"compile_graph_ms\": 3000, "
                         "\"x\": [NaN, -Infinity]}\n"
                         "{\"name\": \"1_A\", \"numerics\": \"half\", \"eager_ms\": 1}\n"));
  auto known = must(read_known_baselines(file, "default"));
  Json one = *record("level1/1_A", true, 2, {{"eager", 4.0}});
  add_known(known, one);
  Json summary = summarise({std::make_shared<const Json>(one)});
  EXPECT_EQ(summary["tasks"][0]["best_baseline"], "compile-graph");
  EXPECT_EQ(summary["tasks"][0]["best_baseline_known"], true);
  EXPECT_DOUBLE_EQ(summary["tasks"][0]["speedups"]["eager"], 2) << "what was measured now stays";
  EXPECT_FALSE(known.tasks.contains("1_A"));
  EXPECT_DOUBLE_EQ(summary["tasks"][0]["speedups"]["best"], 1.5);
  one["event_seconds_a_call"] = 1.5;
  summary = summarise({std::make_shared<const Json>(one)});
  EXPECT_DOUBLE_EQ(summary["tasks"][0]["speedups"]["compile-graph"], 2) << "events against events";
  EXPECT_DOUBLE_EQ(summary["tasks"][0]["speedups"]["eager"], 2) << "wall time against wall time";
}

}  // namespace

TEST(Bench, GivesTasksAnotherTurnAloneWhereOthersWereInTheirWay) {
  auto turn = [](const char* code, const char* reason) {
    return may_do_better_alone({{"code", code}, {"reason", reason}});
  };
  EXPECT_TRUE(turn("hung", ""));
  EXPECT_TRUE(turn("optimize", "no program passed the gates: plain: this machine is too busy to time it"));
  EXPECT_TRUE(turn("optimize", "CUDA: out of memory"));
  EXPECT_FALSE(turn("optimize", "correctness: relative error 2e-3 is over the budget of 1e-5"));
}

}  // namespace stitch::agents
