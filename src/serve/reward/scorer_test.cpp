// The service's scorer over the real Verifier, on the emulated device. Needs PyTorch.
#include "serve/reward/scorer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/machine/process.h"
#include "base/text.h"
#include "code/written.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "import/python.h"
#include "serve/reward/statistics.h"
#include "verify/many/task_index.h"

namespace stitch::serve {
namespace {

const fs::path verify_data = STITCH_SOURCE_DIR "/src/verify/testdata";

bool torch_is_here() {
  auto python = find_python();
  if (!python) return false;
  auto finished = run({{python->string(), "-c", "import torch"}, {}, {}});
  return finished && finished->exit_code == 0;
}

// A submission is one file: the header beside the candidates goes into it.
std::string candidate(const std::string& name) {
  std::string text = *read_file(verify_data / "candidates" / (name + ".cu"));
  const std::string include = "#include \"row_center.h\"\n";
  const size_t at = text.find(include);
  return text.replace(at, include.size(), *read_file(verify_data / "candidates/row_center.h"));
}

TEST(Submission, MayHaveAFenceInAComment) {
  const std::string source = "// As in\n// ```cuda\n// old();\n// ```\nint stitch_run();\n";
  auto code = [](const char* field, const std::string& text) {
    auto read = read_submission({{"task", "t"}, {field, text}});
    return read ? read->code.text : read.error().text();
  };
  EXPECT_EQ(code("code", source), source);
  EXPECT_EQ(trim(code("code", "```cuda\nint stitch_run();\n```\n")), "int stitch_run();");
  EXPECT_EQ(trim(code("response", "Here it is:\n```cuda\nint stitch_run();\n```\n")), "int stitch_run();");
}

TEST(Submission, MayChangeSomeFilesOfAProgram) {
  const std::string before = "// file: program.cu\nint stitch_run();\n// file: regions/a.cu\nint a;\n";
  auto read = [&](const std::string& response) {
    return *read_submission(
        {{"task", "t"}, {"before", before}, {"feedback", "slow"}, {"response", response}});
  };
  const Submission changed = read("Better:\n```cuda\n// file: regions/a.cu\nint b;\n```\n");
  EXPECT_TRUE(changed.from_feedback());
  EXPECT_EQ(changed.code.text, "// file: program.cu\nint stitch_run();\n// file: regions/a.cu\nint b;\n");
  EXPECT_EQ(
      read("```cuda\n// file: regions/a.cu\n```\n```cuda\n// file: regions/c.cu\nint c;\n```\n").code.text,
      "// file: program.cu\nint stitch_run();\n// file: regions/c.cu\nint c;\n");
  // A whole source in their place is as good.
  EXPECT_EQ(read("```cuda\nint stitch_run();\n```\n").code.text, "int stitch_run();\n");
  EXPECT_NE(read("```cuda\n// file: ../a.cu\nint b;\n```\n").code.missing, "");
  EXPECT_NE(read("```cuda\n// file: regions/a.cu\nint b;\n").code.missing, "") << "it was cut off";
  EXPECT_NE(read_submission({{"task", "t"}, {"code", "// file: regions/a.cu\nint a;\n"}})->code.missing, "");
}

TEST(VerifyingScorer, JudgesLabelsAndRewards) {
  if (!torch_is_here()) GTEST_SKIP() << "needs PyTorch";
  ScorerOptions options{.gpu = *find_gpu("H200"), .machine = "here"};
  options.judging.quick = true;
  options.judging.timing = false;
  options.judging.shared_process = true;  // a crash there is judged again alone
  options.judging.version = "test";
  VerifyingScorer scorer(options);
  const TaskFile task{verify_data / "row_center/task.py", "row_center", "hash"};
  auto score = [&](Submission submission) { return scorer.score(task, submission); };
  const Code honest{llm::Language::cuda, candidate("honest"), ""};

  // This thread opens the task: what it opens lives as long as it does.
  const Json nothing =
      score({.task = "row_center", .code = {llm::Language::cuda, "", "the answer is empty"}});
  EXPECT_EQ(nothing.at("label"), "not built") << nothing;
  EXPECT_EQ(nothing.at("reward"), 0.0);
  // At the same time, by one reference.
  Json right, crashed;
  std::thread first([&] { right = score({.task = "row_center", .code = honest}); });
  crashed = score({.task = "row_center", .code = {llm::Language::cuda, candidate("segfault"), ""}});
  first.join();
  EXPECT_EQ(right.at("label"), "correct, not timed") << right;
  EXPECT_GT(right.at("reward").get<double>(), 0.1);
  EXPECT_EQ(right.at("verdict").at("verdict"), "passed");
  EXPECT_EQ(right.at("machine"), "here");
  EXPECT_EQ(crashed.at("label"), "crashed") << crashed;
  EXPECT_NE(word(crashed, "feedback").find("correctness"), std::string::npos) << crashed;
  // A message of its own may hold what it was asked: its author learns the kind of failure alone.
  const std::string run = "return honest(x, weight, y, stream);";
  std::string probe = candidate("honest");
  probe.replace(probe.rfind(run), run.size(),
                "last_error = \"fingerprint 4711\"; return STITCH_DEVICE_ERROR;");
  const Json probed = score({.task = "row_center", .code = {llm::Language::cuda, probe, ""}});
  EXPECT_EQ(probed.at("label"), "crashed") << probed;
  EXPECT_EQ(probed.dump().find("fingerprint"), std::string::npos) << probed;
  const Json typo =
      score({.task = "row_center", .code = {llm::Language::cuda, honest.text + "\nfloat x = y;", ""}});
  EXPECT_NE(word(typo, "feedback").find("candidate.cu"), std::string::npos) << typo;
  // The program before is known from above: nothing is built again.
  const Json changed =
      score({.task = "row_center", .code = honest, .before = honest, .feedback = "use shared memory"});
  EXPECT_EQ(changed.at("components").at("skill"), "from feedback") << changed;
  EXPECT_LT(changed.at("components").at("skill_compliance").get<int>(), 3) << "nothing was changed";
  for (const Json* each : {&std::as_const(right), &std::as_const(crashed), &nothing, &changed})
    EXPECT_TRUE(each->at("counted").get<bool>());

  const Json no_task = scorer.score({verify_data / "nowhere.py", "nowhere", "other"}, {.code = honest});
  EXPECT_EQ(no_task.at("label"), "not judged");
  EXPECT_FALSE(no_task.at("counted").get<bool>());
}

class FakeVerifier final : public verifier::Verifier {
 public:
  Result<verifier::Verdict> judge(const verifier::VerifyOptions&) override { return work_error("fake", ""); }
  bool side_by_side(const verifier::VerifyOptions& options) const override { return !options.timing; }
  void build_ahead(const verifier::VerifyOptions&) const override {}
  Result<std::unique_ptr<verifier::SettingsClock>> settings_clock(const verifier::VerifyOptions&) override {
    return work_error("fake", "");
  }
  Result<Json> adequacy(const verifier::VerifyOptions&, double) override { return work_error("fake", ""); }
  const verifier::TaskGraph& task() const override { std::abort(); }
};

TEST(OpenTasks, OpenOnceForAllWhoCanShare) {
  OpenTasks tasks(1);
  std::promise<void> go;
  std::atomic<int> opened = 0, meanwhile = 0;
  auto open = [&, ready = go.get_future().share()]() -> Result<std::unique_ptr<verifier::Verifier>> {
    ++opened;
    ready.wait();
    return std::unique_ptr<verifier::Verifier>(std::make_unique<FakeVerifier>());
  };
  auto take = [&](const char* name, bool timing) {
    return *tasks.take(name, name, {.timing = timing}, open, [&] { ++meanwhile; });
  };
  std::shared_ptr<OpenTask> first, second;
  std::thread a([&] { first = take("x", false); }), b([&] { second = take("x", false); });
  while (meanwhile < 2) std::this_thread::yield();  // both have work while it is opened
  go.set_value();
  a.join();
  b.join();
  EXPECT_EQ(first, second);
  EXPECT_EQ(opened, 1);
  EXPECT_NE(first->seed, 0u);
  // Timing needs one exclusively.
  auto timed = take("x", true);
  EXPECT_NE(timed, first);
  EXPECT_EQ(take("x", false), first);
  tasks.put_back(first, true);
  tasks.put_back(first, true);
  tasks.put_back(first, false);  // its reference is gone
  EXPECT_NE(take("x", false), first);
  EXPECT_EQ(opened, 3);
  // More than one are open only while they are used.
  tasks.put_back(timed, true);
  tasks.put_back(take("y", false), true);
  EXPECT_EQ(opened, 4);
  tasks.put_back(take("y", true), true);
  EXPECT_EQ(opened, 5) << "y was closed: x was in use";
}

TEST(OpenTasks, WhatCantBeOpenedIsSaidToAll) {
  OpenTasks tasks(1);
  int tried = 0;
  auto open = [&]() -> Result<std::unique_ptr<verifier::Verifier>> {
    ++tried;
    return user_error("bad_task", "no model");
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tasks.take("x", "x", {}, open, [] {}).error().code, "bad_task");
  EXPECT_EQ(tried, 1);
}

// What is said of a hack is the hack, not the gate that it happened to fail at.
TEST(Statistics, SayWhatAHackIs) {
  Statistics statistics;
  const Json verdict = {{"verdict", "failed"}, {"reason", "relative error 4.49e-01 is over the budget"}};
  statistics.answer({{"task", "t"},
                     {"label", "hack"},
                     {"counted", true},
                     {"reward", 0.0},
                     {"reason", "a hack gets no reward: candidate.py:7: it replaces torch.allclose"},
                     {"verdict", verdict}},
                    true);
  statistics.answer(
      {{"task", "t"}, {"label", "wrong"}, {"counted", true}, {"reward", 0.0}, {"verdict", verdict}}, true);
  const Json latest = statistics.to_json()["latest"];
  EXPECT_EQ(latest[0]["reason"], verdict["reason"]);
  EXPECT_NE(latest[1]["reason"].get<std::string>().find("it replaces torch.allclose"), std::string::npos);
}

verifier::Verdict verdict_of(const std::string& code) {
  verifier::Verdict out;
  out.gates.push_back({.gate = "correctness",
                       .id = verifier::GateId::correctness,
                       .outcome = verifier::Outcome::failed,
                       .code = code});
  return out;
}

TEST(SideBySide, WhoIsLateAmongOthersIsAskedAgainAlone) {
  SideBySide all;
  std::promise<void> other_is_there, late;
  std::atomic<int> victim = 0, wrong = 0, looping = 0;
  std::thread others([&] {
    EXPECT_TRUE(all.judge([&]() -> Result<verifier::Verdict> {
      other_is_there.set_value();
      late.get_future().wait();
      ++wrong;
      return verdict_of("wrong");
    }));
  });
  other_is_there.get_future().wait();
  auto verdict = all.judge([&]() -> Result<verifier::Verdict> {
    if (++victim > 1) return verifier::Verdict();
    late.set_value();
    return verdict_of("hung");
  });
  others.join();
  EXPECT_TRUE(verdict && !verdict->failure()) << "the other's kernel held it up";
  EXPECT_EQ(victim, 2);
  EXPECT_EQ(wrong, 1) << "whatever else is found stands";
  // Alone, late is late.
  verdict = all.judge([&]() -> Result<verifier::Verdict> {
    ++looping;
    return verdict_of("hung");
  });
  EXPECT_EQ(verdict->failure()->code, "hung");
  EXPECT_EQ(looping, 1);
}

TEST(Judging, GoesToWorkersAndBack) {
  Judging judging{
      {.baselines = {"eager"}, .quick = true, .shared_process = true, .time_limit = std::chrono::seconds(7)}};
  judging.version = "1.2";
  auto read = judging_from_json(to_json(judging));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(judging));
  EXPECT_FALSE(judging_from_json(Json::object()));
  EXPECT_FALSE(judging_from_json(Json(7)));
}

// What `optimize` asks a Coder for: the function of a region. The scorer makes the program around it.
TEST(VerifyingScorer, JudgesARegionOfAGraph) {
  const fs::path folder = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata/tasks/unit_rows/graph";
  auto index = verifier::TaskIndex::of(folder);
  ASSERT_TRUE(index) << index.error().text();
  auto file = index->find("graph");
  ASSERT_TRUE(file) << file.error().text();
  ScorerOptions options{.gpu = *find_gpu("H200"), .machine = "here"};
  options.judging.device = runner::Device::emulated;
  options.judging.quick = options.judging.shared_process = true;
  options.judging.timing = false;
  VerifyingScorer scorer(options);
  auto graph = load_graph(folder);
  ASSERT_TRUE(graph);
  const plan::Context context(*graph, options.gpu, Numerics::standard);
  auto function = code::function_of_whole(context);
  ASSERT_TRUE(function) << function.error().text();
  auto score = [&](const std::string& source) {
    return scorer.score({*file, "graph", "hash"}, {.task = "graph", .code = {.text = source}});
  };
  EXPECT_EQ(*function, "enqueue_task");
  const std::string right = R"(#include "stitch/runtime/launch.h"
namespace {
__global__ void unit_rows(const float* x, float* out, int columns) {
  stitch::wait_for_previous_kernel();
  __shared__ float sums[128];
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 128) sum += row[i] * row[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  float all = 0;
  for (int i = 0; i < 128; ++i) all += sums[i];
  for (int i = threadIdx.x; i < columns; i += 128) out[blockIdx.x * columns + i] = row[i] / sqrtf(all);
}
}  // namespace
StitchStatus enqueue_task(const float* x, float* out, cudaStream_t stream) {
  return stitch::launch("unit_rows", unit_rows, stitch::Geometry{20, 128}, stream, x, out, 4000);
}
)";
  std::string wrong = right;
  wrong.replace(wrong.find("sqrtf(all)"), 10, "all");
  const Json good = score(right), bad = score(wrong);
  EXPECT_EQ(good.at("label"), "correct, not timed") << good;
  EXPECT_EQ(bad.at("label"), "wrong") << bad;
  EXPECT_GT(good.at("reward"), bad.at("reward"));
  EXPECT_EQ(score("StitchStatus enqueue_task(int) { return STITCH_OK; }").at("label"), "not built");
  // Mended: the second skill, whose program before is a region, too.
  const Json mended = scorer.score(
      {*file, "graph", "hash"},
      {.task = "graph", .code = {.text = right}, .before = {.text = wrong}, .feedback = "wrong"});
  EXPECT_EQ(mended.at("components").at("skill"), "from feedback") << mended;
  EXPECT_GT(mended.at("reward"), 0.2);
}

}  // namespace
}  // namespace stitch::serve
