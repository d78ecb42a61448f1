// The service's scorer over the real Verifier, on the emulated device. Needs PyTorch.
#include "serve/reward/scorer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/text.h"
#include "import/python.h"

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

TEST(VerifyingScorer, JudgesLabelsAndRewards) {
  if (!torch_is_here()) GTEST_SKIP() << "needs PyTorch";
  ScorerOptions options{.gpu = *find_gpu("H200"), .machine = "here"};
  options.judging.quick = true;
  options.judging.version = "test";
  VerifyingScorer scorer(options);
  const TaskFile task{verify_data / "row_center/task.py", "row_center", "hash"};
  auto score = [&](Submission submission) { return scorer.score(task, submission); };
  const Code honest{llm::Language::cuda, candidate("honest"), ""};

  const Json right = score({.task = "row_center", .code = honest});
  EXPECT_EQ(right.at("label"), "correct, not timed") << right;
  EXPECT_GT(right.at("reward").get<double>(), 0.1);
  EXPECT_EQ(right.at("verdict").at("verdict"), "passed");
  EXPECT_EQ(right.at("machine"), "here");
  const Json crashed =
      score({.task = "row_center", .code = {llm::Language::cuda, candidate("segfault"), ""}});
  EXPECT_EQ(crashed.at("label"), "crashed") << crashed;
  EXPECT_NE(word(crashed, "feedback").find("correctness"), std::string::npos) << crashed;
  const Json nothing =
      score({.task = "row_center", .code = {llm::Language::cuda, "", "the answer is empty"}});
  EXPECT_EQ(nothing.at("label"), "not built") << nothing;
  EXPECT_EQ(nothing.at("reward"), 0.0);
  // The program before is known from above: nothing is built again.
  const Json changed =
      score({.task = "row_center", .code = honest, .before = honest, .feedback = "use shared memory"});
  EXPECT_EQ(changed.at("components").at("skill"), "from feedback") << changed;
  EXPECT_LT(changed.at("components").at("skill_compliance").get<int>(), 3) << "nothing was changed";
  for (const Json* each : {&right, &crashed, &nothing, &changed})
    EXPECT_TRUE(each->at("counted").get<bool>());

  const Json no_task = scorer.score({verify_data / "nowhere.py", "nowhere", "other"}, {.code = honest});
  EXPECT_EQ(no_task.at("label"), "not judged");
  EXPECT_FALSE(no_task.at("counted").get<bool>());
}

TEST(Judging, GoesToWorkersAndBack) {
  Judging judging{.baselines = {"eager"}, .quick = true, .time_limit = 7, .version = "1.2"};
  auto read = judging_from_json(to_json(judging));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(judging));
  EXPECT_FALSE(judging_from_json(Json::object()));
  EXPECT_FALSE(judging_from_json(Json(7)));
}

}  // namespace
}  // namespace stitch::serve
