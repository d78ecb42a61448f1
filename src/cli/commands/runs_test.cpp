// stitchcuda runs and memory: what they say of a store, and what they say of mistakes.
#include "cli/commands/runs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/testdata/ran.h"
#include "cli/testdata/sample_store.h"
#include "store/database.h"
#include "store/memory.h"

namespace stitch {
namespace {

// No test keeps its runs in the user's home.
const int set_store = ::setenv("STITCHCUDA_STORE", "none", 0);

class Runs : public testing::Test {
 protected:
  void SetUp() override {
    if (!store::Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    scratch.emplace(must(ScratchFolder::create("stitch-runs")));
    file = scratch->path() / "runs.db";
    auto opened = must(store::RunStore::open(file));
    id = add_sample_run(opened);
    SampleRun other(opened, "lenet5");
    other.step("plain", "one simple kernel per node: the correct starting point");
    other.attempt("plain", 1, "better", "// plain\n");
    other.end("plain", true, 0, 3e-3);
    other.finish(store::RunState::stopped);
    second = other.run().id;
  }
  Ran run(std::vector<std::string> words) {
    words.insert(words.end(), {"--store", file.string()});
    return stitchcuda(std::move(words));
  }

  std::optional<ScratchFolder> scratch;
  fs::path file;
  std::string id, second;
};

TEST_F(Runs, AreListedTheLastOneFirst) {
  const Ran listed = run({"runs", "list"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_LT(listed.out.find("lenet5"), listed.out.find("resnet18"));
  EXPECT_NE(listed.out.find("900 us"), std::string::npos) << listed.out;
  const Json json = *parse_json(run({"runs", "list", "--json"}).out);
  EXPECT_EQ(json.at("count"), 2);
  EXPECT_EQ(json.at("runs")[1].at("attempts"), 5);
  EXPECT_EQ(json.at("runs")[1].at("steps_kept"), 3);
  EXPECT_EQ(json.at("runs")[0].at("state"), "stopped");
  EXPECT_NE(run({"runs", "list", "--most", "1"}).out.find("1 more: "), std::string::npos);
}

TEST_F(Runs, AreShownStepByStep) {
  const Ran shown = run({"runs", "show", id});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* expected :
       {"resnet18", "2.18x", "regions: region 'fc1_relu' alone", "not tried again: half storage"})
    EXPECT_NE(shown.out.find(expected), std::string::npos) << expected << "\n" << shown.out;
  const Json json = *parse_json(run({"runs", "show", id, "--json"}).out);
  EXPECT_EQ(json.at("steps").size(), 4u);
  EXPECT_EQ(json.at("steps")[3].at("base"), 1);  // on "libraries", not on what failed
  EXPECT_EQ(json.at("steps")[1].at("attempts").size(), 2u);
  EXPECT_NE(run({"runs", "show", second}).out.find("To resume: stitchcuda runs resume"), std::string::npos);
}

TEST_F(Runs, AreCompared) {
  const Ran compared = run({"runs", "diff", second, id});
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.out.find("+// fused"), std::string::npos) << compared.out;
  EXPECT_EQ(run({"runs", "diff", id, id}).out.find("+// fused"), std::string::npos);
  EXPECT_TRUE(parse_json(run({"runs", "diff", id, second, "--json"}).out));
}

TEST_F(Runs, AreExportedWithEveryAttempt) {
  const std::string out = scratch->path() / "exported";
  const Ran exported = run({"runs", "export", id, "-o", out});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(read_file(fs::path(out) / "steps/01/attempt1-2/sources/program.cu")->find("script"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(fs::path(out) / "steps/01/attempt2-3/verdict.json"));
  EXPECT_TRUE(fs::exists(fs::path(out) / "conversation.jsonl"));
  EXPECT_NE(read_file(fs::path(out) / "conversation.md")->find("## assistant\n\nOne thread an element."),
            std::string::npos);
  EXPECT_TRUE(parse_json(*read_file(fs::path(out) / "run.json")));
}

// Role by role, code as code, tokens and seconds; what an agent repeats in each request stands once.
TEST_F(Runs, KeepTheWholeConversationAndWhatEachAttemptChanged) {
  const std::string out = scratch->path() / "exported";
  ASSERT_EQ(run({"runs", "export", id, "-o", out}).code, 0);
  Json whole = *parse_json(*read_file(fs::path(out) / "run.json"));
  const Json& all = whole.at("conversation");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("messages")[1].at("calls")[0].at("name"), "read_file");
  ASSERT_EQ(all[1].at("messages").size(), 2u) << "the tool's result and the answer, not the prompt again";
  EXPECT_EQ(all[1]["messages"][0].at("text"), "x: f32[64], row-major");
  EXPECT_EQ(all[2].at("error"), "no answer for 120 s");
  Json& repaired = whole["steps"][1]["attempts"][1];
  EXPECT_EQ(repaired["changes"][0]["path"], "program.cu");
  EXPECT_EQ(repaired["verdict"]["gates"][1]["summary"], "12 trials");
  EXPECT_EQ(whole["steps"][3]["attempts"][0]["changes"][0]["lines"].back(), "+// fused");

  const std::string shown = run({"runs", "show", id}).out;
  for (const char* expected : {"coder", "812 in, 20 out", "calls read_file", "One thread an element.",
                               "2 lines of cuda", "no answer for 120 s"})
    EXPECT_NE(shown.find(expected), std::string::npos) << expected << "\n" << shown;
  const Json json = *parse_json(run({"runs", "show", id, "--json"}).out);
  EXPECT_EQ(json.at("conversation").at(1).at("output_tokens"), 64);
  EXPECT_FALSE(json["conversation"][1].contains("messages")) << "a summary, for agents that ask";
  const std::string page = scratch->path() / "run.html";
  EXPECT_EQ(run({"runs", "page", id, "-o", page}).code, 0);
  EXPECT_NE(read_file(page)->find("One thread an element."), std::string::npos);
}

TEST_F(Runs, AreRemoved) {
  EXPECT_EQ(run({"runs", "remove", id}).code, 0);
  EXPECT_EQ(run({"runs", "show", id}).code, 2);
  EXPECT_EQ(run({"runs", "show", second}).code, 0);
}

TEST_F(Runs, MistakesHaveOneClearMessage) {
  auto message = [&](std::vector<std::string> words, int code) {
    const Ran ran = run(std::move(words));
    EXPECT_EQ(ran.code, code);
    return split(ran.err, '\n')[0];
  };
  EXPECT_EQ(message({"runs", "lst"}, 2), "error: unknown action 'runs lst'");
  EXPECT_EQ(message({"runs", "show"}, 2), "error: show takes one run");
  EXPECT_EQ(message({"runs", "list", id}, 2), "error: list takes no run id");
  EXPECT_EQ(message({"runs", "show", "no\x1b[31m"}, 2), "error: there is no run 'no?[31m'");
  EXPECT_EQ(message({"runs", "resume", id}, 2),
            format("error: the run {} is finished: nothing to resume", id));
  EXPECT_EQ(message({"memory", "merge"}, 2), "error: FILE is required");
  EXPECT_EQ(message({"memory", "forget"}, 2), "error: this would delete everything that was remembered");
  EXPECT_EQ(message({"memory", "recall"}, 2), "error: unknown action 'memory recall'");
  file = scratch->path() / "none.db";
  EXPECT_EQ(message({"runs", "list"}, 2), format("error: {}: no database of runs here yet", file.string()));
}

TEST_F(Runs, WhatWasStartedCanBeStartedAgain) {
  OptimizeCommand command{.model = "net.py", .out = "program", .budget = 77};
  command.numerics = "tf32";
  command.quick = true;
  command.task_options.mode = Mode::eval;
  command.no_recall = true;
  auto again = must(read_command(record_of(command)));
  EXPECT_EQ(again.model, fs::absolute("net.py").string());
  EXPECT_EQ(again.task_options.mode, Mode::eval);
  EXPECT_EQ(record_of(again), record_of(command));
  EXPECT_FALSE(read_command("{}"));
  EXPECT_FALSE(read_command("{\"model\": 7}"));
}

TEST_F(Runs, MemoryIsShownExportedAndMerged) {
  auto store = store::RunStore::open(file);
  ASSERT_TRUE(store::Memory(*store).remember({{.origin = "o",
                                               .number = 1,
                                               .scope = store::Scope::region,
                                               .signature = "conv relu #12",
                                               .machine = "H200",
                                               .numerics = "default",
                                               .technique = "conv.cudnn",
                                               .outcome = "wrong",
                                               .why = "too far off"}}));
  EXPECT_NE(run({"memory", "show"}).out.find("conv relu #12"), std::string::npos);
  const std::string out = scratch->path() / "memory.jsonl";
  EXPECT_EQ(run({"memory", "export", "-o", out}).code, 0);
  EXPECT_EQ(run({"memory", "forget", "conv"}).out, "1 observation forgotten\n");
  EXPECT_EQ(run({"memory", "show"}).out, "Nothing is recorded yet.\n");
  EXPECT_EQ(run({"memory", "merge", out}).out, "1 observation added, 0 already known\n");
}

}  // namespace
}  // namespace stitch
