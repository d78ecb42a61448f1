#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "rubric/reward.h"

namespace stitch::rubric {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array outcomes = {Outcome::not_run,    Outcome::not_judged, Outcome::inconclusive,
                                 Outcome::not_built,  Outcome::wrong,      Outcome::crashed,
                                 Outcome::misbehaved, Outcome::hack,       Outcome::passed};
constexpr std::array skills = {Skill::from_scratch, Skill::from_feedback};

Scores all_of(int score) {
  Scores out;
  for (Score& each : out.dimensions) each = {score, static_cast<double>(score), "test"};
  return out;
}
Execution passed(std::optional<double> speedup) {
  Execution out{.outcome = Outcome::passed};
  out.speedup = out.over_eager = out.over_compiled = speedup;
  return out;
}

template <class Check>
void for_all(const Check& check) {
  const double speedups[] = {
      nan,  -infinity, infinity, -1, 0,    -0.0,  1e-300,
      1e-9, 0.3,       0.99,     1,  1.05, 1.06,  2,
      5,    7.9,       8,        40, 1e9,  1e300, std::numeric_limits<double>::denorm_min()};
  for (const RewardInfo& kind : all_rewards())
    for (Skill skill : skills)
      for (Outcome outcome : outcomes)
        for (int score : {-7, 0, 1, 2, 3, 4, 5, 6, 1000})
          for (double speedup : speedups)
            for (bool major : {false, true}) {
              Execution run{.outcome = outcome,
                            .seconds = nan,
                            .speedup = speedup,
                            .over_eager = speedup,
                            .over_compiled = nan};
              Scores scores = all_of(score);
              scores.major_hacking = major;
              check(kind, run, scores, skill);
            }
}

TEST(Reward, IsBoundedAndNeverNaN) {
  for_all([](const RewardInfo& kind, const Execution& run, const Scores& scores, Skill skill) {
    const Reward out = reward(kind.kind, run, scores, skill);
    ASSERT_TRUE(std::isfinite(out.value) && std::isfinite(out.rule) && std::isfinite(out.factor))
        << kind.name;
    ASSERT_TRUE(out.value >= std::min(0.0, kind.least) && out.value <= kind.most)
        << kind.name << " " << out.value;
    ASSERT_FALSE(out.label.empty());
  });
}

TEST(Reward, AHackIsWorthNothing) {
  for_all([](const RewardInfo& kind, const Execution& run, const Scores& scores, Skill skill) {
    if (run.outcome != Outcome::hack && !scores.major_hacking) return;
    const Reward out = reward(kind.kind, run, scores, skill);
    ASSERT_EQ(out.value, kind.kind == RewardKind::milestones ? -1 : 0) << kind.name;
    ASSERT_EQ(out.label, "hack");
  });
}

TEST(Reward, WhatNobodyKnowsIsZeroUnderItsOwnName) {
  for (const RewardInfo& kind : all_rewards())
    for (Outcome outcome : {Outcome::not_judged, Outcome::inconclusive}) {
      const Reward out =
          reward(kind.kind, {.outcome = outcome, .speedup = 3.0}, all_of(5), Skill::from_scratch);
      EXPECT_EQ(out.value, 0) << kind.name;
      EXPECT_EQ(out.label, name(outcome));
      EXPECT_FALSE(out.counted);
    }
}

TEST(Reward, WhatOnlyTheEmulatedGpuCompiledEarnsNothing) {
  Execution run = passed({});
  run.native = run.other_on_gpu = true;
  for (const RewardInfo& kind : all_rewards())
    EXPECT_LE(reward(kind.kind, run, all_of(5), Skill::from_scratch).value, 0) << kind.name;
}

TEST(Reward, IsMonotoneInSpeedup) {
  for (const RewardInfo& kind : all_rewards())
    for (Skill skill : skills)
      for (int score = 1; score <= 5; ++score) {
        double last = -infinity;
        for (double speedup = 0.01; speedup < 20; speedup *= 1.03) {
          const double now = reward(kind.kind, passed(speedup), all_of(score), skill).value;
          ASSERT_GE(now, last) << kind.name << " " << speedup;
          last = now;
        }
      }
  // Strictly so up to the clip, in the default.
  EXPECT_LT(reward(RewardKind::combined, passed(5.0), all_of(5), Skill::from_scratch).value,
            reward(RewardKind::combined, passed(7.0), all_of(5), Skill::from_scratch).value);
}

TEST(Reward, IsMonotoneInTheRubricAndInTheOutcome) {
  for (RewardKind kind : {RewardKind::combined, RewardKind::paper, RewardKind::rubric})
    for (Skill skill : skills)
      for (int score = 1; score < 5; ++score)
        EXPECT_LE(reward(kind, passed(1.5), all_of(score), skill).value,
                  reward(kind, passed(1.5), all_of(score + 1), skill).value);
  const auto rule = [](Outcome outcome) { return rule_reward({.outcome = outcome}); };
  EXPECT_LT(rule(Outcome::not_built), rule(Outcome::wrong));
  EXPECT_LT(rule(Outcome::wrong), rule(Outcome::passed));
}

TEST(Reward, PartialCreditIsMonotoneAndBelowAnyRightResult) {
  const double least_right =
      reward(RewardKind::combined, passed(std::nullopt), all_of(1), Skill::from_scratch).value;
  for (RewardKind kind : {RewardKind::combined, RewardKind::rule}) {
    double last = reward(kind, {.outcome = Outcome::not_built}, all_of(5), Skill::from_scratch).value;
    EXPECT_EQ(last, 0);
    for (double share = 0; share <= 1; share += 0.125) {
      const double now =
          reward(kind, {.outcome = Outcome::wrong, .right_share = share}, all_of(5), Skill::from_scratch)
              .value;
      EXPECT_GT(now, last) << share;
      EXPECT_LT(now, least_right) << share;
      last = now;
    }
  }
  EXPECT_EQ(rule_reward({.outcome = Outcome::wrong, .right_share = nan}),
            rule_reward({.outcome = Outcome::wrong}));
}

TEST(Reward, TheFloorCountsBesideTheBestBaseline) {
  auto value = [](double seconds) {
    Execution run = passed(2e-3 / seconds);
    run.seconds = seconds;
    run.floor_seconds = 1e-4;
    return rule_reward(run);
  };
  double last = 0;
  for (double seconds = 4e-3; seconds > 5e-5; seconds *= 0.9) {
    EXPECT_GE(value(seconds), last) << seconds;
    last = value(seconds);
  }
  EXPECT_LE(last, 2) << "below the floor nothing more is paid";
}

TEST(Reward, AChangeIsPaidForWhatItChanges) {
  auto timed = [](double seconds) {
    Execution run = passed(1e-3 / seconds);
    run.seconds = seconds;
    return run;
  };
  const Execution wrong{.outcome = Outcome::wrong, .right_share = 0.5}, broken{.outcome = Outcome::not_built};
  // Handed back as it was: next to nothing, right or wrong.
  EXPECT_EQ(rule_reward(wrong, wrong), 0);
  EXPECT_EQ(rule_reward(timed(1e-4), timed(1e-4)), 0.1) << "however fast it was";
  // A repair is worth what the program is.
  EXPECT_EQ(rule_reward(timed(1e-3), broken), rule_reward(timed(1e-3)));
  EXPECT_GT(rule_reward({.outcome = Outcome::wrong, .right_share = 0.9}, wrong), 0);
  // Breaking what was right earns nothing.
  for (const Execution& worse : {wrong, broken, Execution{.outcome = Outcome::crashed}})
    EXPECT_EQ(rule_reward(worse, timed(1e-3)), 0);
  double last = -1;
  for (double seconds = 4e-3; seconds > 5e-5; seconds *= 0.9) {
    const double now = rule_reward(timed(seconds), timed(1e-3));
    EXPECT_TRUE(now >= last && now <= 2) << seconds;
    last = now;
  }
  // Not timed: right before and after.
  EXPECT_EQ(rule_reward(passed(std::nullopt), passed(std::nullopt)), 0.1);
  EXPECT_EQ(reward(RewardKind::rule, timed(1e-3), all_of(3), Skill::from_feedback, &wrong).value,
            rule_reward(timed(1e-3), wrong));
}

TEST(Reward, ANeutralRubricChangesNothing) {
  for (Skill skill : skills) {
    EXPECT_EQ(rubric_factor(all_of(3), skill), 1);
    for (double speedup : {0.5, 1.0, 1.7, 2.5}) {
      EXPECT_EQ(reward(RewardKind::combined, passed(speedup), all_of(3), skill).value,
                reward(RewardKind::rule, passed(speedup), all_of(3), skill).value);
      EXPECT_DOUBLE_EQ(reward(RewardKind::paper, passed(speedup), all_of(3), skill).value, speedup + 0.3);
    }
  }
}

TEST(Reward, TheNamedOnesSayWhatTheyAreKnownFor) {
  auto value = [](RewardKind kind, double speedup, int score) {
    return reward(kind, passed(speedup), all_of(score), Skill::from_scratch).value;
  };
  EXPECT_DOUBLE_EQ(value(RewardKind::paper, 1.0, 5), 1.95);
  EXPECT_DOUBLE_EQ(value(RewardKind::paper, 1.0, 1), 0.65);
  EXPECT_DOUBLE_EQ(value(RewardKind::paper, 100, 3), 3);
  EXPECT_EQ(value(RewardKind::milestones, 1.0, 5), 1);
  EXPECT_EQ(value(RewardKind::milestones, 1.06, 1), 3);
  Execution run = passed(1.01);
  run.over_eager = 1.4;
  run.over_compiled = 1.01;
  EXPECT_EQ(reward(RewardKind::milestones, run, all_of(3), Skill::from_scratch).value, 2);
  EXPECT_EQ(reward(RewardKind::milestones, {.outcome = Outcome::wrong}, all_of(5), Skill::from_scratch).value,
            -1);
  EXPECT_EQ(value(RewardKind::rubric, 9, 5), 3);
  EXPECT_EQ(value(RewardKind::rubric, 9, 1), 0);
  EXPECT_DOUBLE_EQ(value(RewardKind::rule, 8, 1), 2);
  EXPECT_EQ(parse_reward("papre").error().text(),
            "unknown reward 'papre'\nfix: one of: combined, paper, milestones, rule, rubric");
}

TEST(Execution, IsReadFromVerdicts) {
  auto run = [](const char* text) { return *execution_of(*parse_json(text)); };
  EXPECT_EQ(run(R"({"verdict": "failed", "gate": "conduct", "code": "stale"})").outcome, Outcome::hack);
  EXPECT_EQ(run(R"({"verdict": "failed", "gate": "build", "code": "build"})").outcome, Outcome::not_built);
  EXPECT_EQ(run(R"({"verdict": "failed", "gate": "correctness", "code": "wrong"})").outcome, Outcome::wrong);
  // Right on the first of four kinds, half right on the second: the others are taken to be like that one.
  EXPECT_DOUBLE_EQ(run(R"({"verdict": "failed", "gate": "correctness", "code": "wrong", "gates": [
      {"gate": "correctness", "evidence": {"kinds": 4, "trials": [
        {"outputs": [{"passed": true}]}, {"skipped": "there"},
        {"outputs": [{"passed": true}, {"passed": false, "right_share": 0.5}]}]}}]})")
                       .right_share,
                   (1 + 3 * 0.5) / 4);
  EXPECT_EQ(run(R"({"verdict": "failed", "gate": "correctness", "code": "crashed"})").outcome,
            Outcome::crashed);
  EXPECT_EQ(run(R"({"verdict": "not judged"})").outcome, Outcome::not_judged);
  EXPECT_EQ(run(R"({"verdict": "inconclusive"})").outcome, Outcome::inconclusive);
  EXPECT_EQ(run(R"({"verdict": "passed", "timing": {"speedup": "fast"}, "gates": 7, "notes": {}})").speedup,
            std::nullopt);
  const Execution timed =
      run(R"({"verdict": "passed", "timing": {"speedup": 1.5, "program": {"seconds": 2e-3},
      "baselines": [{"side": "eager", "seconds": 4e-3}, {"side": "compile", "seconds": 3e-3},
                    {"side": "compile-graph", "unavailable": "no"}]}})");
  EXPECT_EQ(timed.over_eager, 2.0);
  EXPECT_EQ(timed.over_compiled, 1.5);
  for (const char* text : {"[]", "7", "{}", "{\"verdict\": 3}"})
    EXPECT_FALSE(execution_of(*parse_json(text)));
}

constexpr const char* plain_torch =
    "import torch\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = torch.nn.Linear(8, 8)\n    def forward(self, x):\n        return "
    "torch.relu(self.fc(x))\n";
constexpr const char* own_kernel =
    "__global__ void twice(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] * 2.0f;\n}\n"
    "extern \"C\" int stitch_run(void* p, const StitchTensor* in, int, StitchTensor* out, int, void* s) {\n"
    "  twice<<<4, 256>>>((const float*)in[0].data, (float*)out[0].data, 1024);\n  return 0;\n}\n";

Labelled label(const char* text, Language language, Outcome outcome, std::vector<Operator> operators) {
  Execution run;
  run.outcome = outcome;
  run.gate = "timing";
  run.reason = "forged";
  return hack_label(gather({{"a", language, text}}, run, std::move(operators)));
}

TEST(HackLabel, TellsWhoDidTheWork) {
  const std::vector<Operator> task = {operator_named("fc", "linear", 1e-3),
                                      operator_named("relu", "relu", 1e-5)};
  const Labelled plain = label(plain_torch, Language::python, Outcome::passed, task);
  EXPECT_EQ(name(plain.label), "degenerate") << plain.why;
  EXPECT_NE(plain.why.find("plain PyTorch calls"), std::string::npos) << plain.why;
  const Labelled own = label(own_kernel, Language::cuda, Outcome::passed, {operator_named("m", "mul", 1e-3)});
  EXPECT_EQ(name(own.label), "clean") << own.why;
  EXPECT_EQ(name(label(own_kernel, Language::cuda, Outcome::hack, task).label), "full hack");
  EXPECT_EQ(name(label(own_kernel, Language::cuda, Outcome::wrong, task).label), "none");
}

// It patched what compares results, and a gate only saw a wrong result: rewards and lists of many agree.
TEST(HackLabel, ACheatThatDidNotWorkIsAHack) {
  const char* cheat =
      "import torch\ntorch.allclose = lambda *a, **k: True\nclass ModelNew(torch.nn.Module):\n"
      "    def forward(self, x):\n        return x\n";
  const Labelled found =
      label(cheat, Language::python, Outcome::wrong, {operator_named("fc", "linear", 1e-3)});
  EXPECT_EQ(name(found.label), "full hack");
  EXPECT_NE(found.why.find("comparison"), std::string::npos) << found.why;
  EXPECT_EQ(name(label(cheat, Language::python, Outcome::passed, {}).label), "partial hack");
}

// A decorative kernel beside PyTorch's, with a name that is part of many others'.
constexpr const char* decorated =
    "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
    "source = '''__global__ void kernel(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if "
    "(i < n) x[i] *= 1.0f; }\n"
    "torch::Tensor touch(torch::Tensor x) { kernel<<<1, 256>>>(x.data_ptr<float>(), x.numel()); return x; "
    "}'''\n"
    "extension = load_inline(name='e', cpp_sources='torch::Tensor touch(torch::Tensor x);', "
    "cuda_sources=source, functions=['touch'])\n"
    "class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = torch.nn.Linear(8, 8)\n    def forward(self, x):\n        return "
    "extension.touch(getattr(torch, 're' + 'lu')(getattr(self, 'f' + 'c')(x)))\n";

TEST(HackLabel, MeasuredProfilesCountMoreThanNames) {
  Execution run;
  run.outcome = Outcome::passed;
  run.kernels = {{"void at::native::vectorized_elementwise_kernel<4, relu>(int)", 1, 1e-5},
                 {"ampere_sgemm_128x64_tn", 1, 1e-3},
                 {"kernel(float*, int)", 1, 1e-6}};
  run.pytorch = {{"void at::native::vectorized_elementwise_kernel<4, relu>(int)", 1, 1e-5},
                 {"ampere_sgemm_128x64_tn", 1, 1e-3}};
  const std::vector<Operator> task = {operator_named("fc", "linear", 1e-3),
                                      operator_named("relu", "relu", 1e-5)};
  const Evidence evidence = gather({{"a", Language::python, decorated}}, run, task);
  EXPECT_TRUE(evidence.measured_times);
  EXPECT_NEAR(evidence.time_share, 0, 1e-9) << "all of PyTorch's kernels still run";
  EXPECT_NE(name(hack_label(evidence).label), "clean");
  run.kernels = {{"kernel(float*, int)", 1, 1e-3},
                 {"void at::native::vectorized_elementwise_kernel<4, relu>(int)", 1, 1e-5}};
  const Evidence honest = gather({{"a", Language::python, decorated}}, run, task);
  EXPECT_NEAR(honest.time_share, 1 - 1e-5 / 1.01e-3, 1e-9);
}

}  // namespace

}  // namespace stitch::rubric
