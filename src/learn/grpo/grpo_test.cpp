#include "learn/grpo/grpo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "learn/grpo/checkpoint.h"
#include "learn/grpo/trainer.h"

namespace stitch::learn {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  Scorer policy{{{1}}, uint64_t{1}};
  std::vector<Group> groups;
  GrpoOptions options;
  double loss = 0;
  std::vector<double> gradient;
};

// As autograd has it: grpo_torch_test.py.
Case read_case() {
  const Json json = *parse_json(*read_file(STITCH_SOURCE_DIR "/src/learn/grpo/testdata/grpo_case.json"));
  Case out;
  out.policy =
      Scorer({json["widths"].get<std::vector<int>>()}, json["parameters"].get<std::vector<double>>());
  const Json& options = json["options"];
  out.options = {.clip_below = options["clip_below"],
                 .clip_above = options["clip_above"],
                 .kl = options["kl"],
                 .entropy = options["entropy"]};
  for (const Json& group : json["groups"]) {
    out.groups.emplace_back();
    for (const Json& answer : group) {
      Answer one{.decisions = {}, .reward = answer["reward"]};
      for (const Json& decision : answer["decisions"])
        one.decisions.push_back({.options = decision["options"].get<std::vector<float>>(),
                                 .chosen = decision["chosen"],
                                 .sampled = decision["sampled"],
                                 .reference = decision["reference"]});
      out.groups.back().push_back(std::move(one));
    }
  }
  out.loss = json["loss"];
  out.gradient = json["gradient"].get<std::vector<double>>();
  return out;
}

TEST(Grpo, LossAndGradientAreAutograds) {
  const Case one = read_case();
  std::vector<double> gradient(one.gradient.size(), 0.0);
  const GrpoLoss loss = grpo_loss(one.policy, one.groups, one.options, gradient);
  EXPECT_NEAR(loss.loss, one.loss, 1e-12);
  EXPECT_EQ(loss.groups, 3);
  EXPECT_EQ(loss.flat_groups, 1);
  EXPECT_GT(loss.clipped, 0);
  for (size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], one.gradient[i], 1e-11) << i;
}

TEST(Grpo, GradientsAreFiniteDifferences) {
  const Case one = read_case();
  std::vector<double> gradient(one.gradient.size(), 0.0);
  grpo_loss(one.policy, one.groups, one.options, gradient);
  // Differences: of one decision's options, one of them not known, one further off than Huber's bend.
  Differences wanted{.options = one.groups[0][0].decisions[0].options, .wanted = {}};
  const size_t options = wanted.options.size() / static_cast<size_t>(one.policy.shape().features());
  for (size_t o = 0; o < options; ++o) wanted.wanted.push_back(o == 2 ? NAN : 1.5 * static_cast<double>(o));
  const Differences* questions[] = {&wanted};
  std::vector<double> fitted(gradient.size(), 0.0);
  difference_loss(one.policy, questions, fitted);
  for (size_t i = 0; i < gradient.size(); ++i) {
    constexpr double h = 1e-6;
    auto around = [&](double by, bool differences) {
      Scorer moved = one.policy;
      moved.parameters()[i] += by;
      return differences ? difference_loss(moved, questions, {})
                         : grpo_loss(moved, one.groups, one.options, {}).loss;
    };
    EXPECT_NEAR(gradient[i], (around(h, false) - around(-h, false)) / (2 * h), 1e-7) << i;
    EXPECT_NEAR(fitted[i], (around(h, true) - around(-h, true)) / (2 * h), 1e-7) << i;
  }
}

TEST(Grpo, AdvantagesOfOddGroups) {
  const GrpoOptions options;
  const Advantages plain = advantages_of(std::vector<double>{1, 2, 3}, options);
  EXPECT_NEAR(plain.values[0], -1 / (1 + 1e-4), 1e-12);
  EXPECT_NEAR(plain.values[1], 0, 1e-12);
  const Advantages same = advantages_of(std::vector<double>{0.1, 0.1, 0.1}, options);
  EXPECT_TRUE(same.flat);
  for (double value : same.values) EXPECT_EQ(value, 0);
  const Advantages holes = advantages_of(std::vector<double>{1, nan, 3, INFINITY}, options);
  EXPECT_EQ(holes.dropped, 2);
  EXPECT_FALSE(holes.counted[1]);
  EXPECT_EQ(holes.values[3], 0);
  EXPECT_NEAR(holes.values[0], -holes.values[2], 1e-12);
  EXPECT_TRUE(advantages_of(std::vector<double>{nan, 2}, options).flat);
  EXPECT_TRUE(advantages_of({}, options).flat);
}

TEST(Grpo, NotANumberNeverReachesThePolicy) {
  Case one = read_case();
  for (Group& group : one.groups)
    for (Answer& answer : group) answer.reward = nan;
  std::vector<double> gradient(one.gradient.size(), 0.0);
  const GrpoLoss loss = grpo_loss(one.policy, one.groups, one.options, gradient);
  EXPECT_EQ(loss.answers, 0);
  EXPECT_EQ(loss.dropped, 9);
  for (double each : gradient) EXPECT_EQ(each, 0);
  Adam adam;
  std::vector<double> parameters = {1, 2};
  EXPECT_FALSE(adam.step(parameters, std::vector<double>{nan, 0}, {}));
  EXPECT_EQ(parameters, (std::vector<double>{1, 2}));
  EXPECT_FALSE(adam.step(parameters, std::vector<double>{1e200, 0}, {}));  // its square is none
}

// Ten arms, known by a number that says nothing of their worth in order.
class Bandit final : public Question {
 public:
  std::vector<float> options(std::span<const int> chosen) override {
    std::vector<float> out;
    if (!chosen.empty()) return out;
    for (int arm = 0; arm < 10; ++arm)
      for (int bit = 0; bit < 4; ++bit) out.push_back((arm >> bit) % 2 == 0 ? -1.0F : 1.0F);
    return out;
  }
  double reward(std::span<const int> chosen) override { return (chosen[0] * 7) % 10 / 9.0; }
};

// A tile, stages and warps of a kernel whose size the question has: shared memory is limited, too little of
// everything is slow, and the best tile depends on the size.
class Schedule final : public Question {
 public:
  explicit Schedule(int size) : size_(size) {}
  static constexpr int values[3] = {4, 3, 4};
  std::vector<float> options(std::span<const int> chosen) override {
    std::vector<float> out;
    if (chosen.size() == 3) return out;
    for (int value = 0; value < values[chosen.size()]; ++value) {
      for (size_t knob = 0; knob < 3; ++knob) out.push_back(knob == chosen.size() ? 1.0F : 0.0F);
      for (int each = 0; each < 4; ++each) out.push_back(each == value ? 1.0F : 0.0F);
      for (size_t before = 0; before < 2; ++before)
        out.push_back(before < chosen.size() ? static_cast<float>(chosen[before]) - 1.0F : 0.0F);
      for (int each = 0; each < 3; ++each) out.push_back(each == size_ ? 1.0F : 0.0F);
    }
    return out;
  }
  double reward(std::span<const int> chosen) override {
    if (chosen[0] + chosen[1] > 4) return 0;  // does not fit
    const double tile = std::exp(-0.5 * (chosen[0] - size_ - 0.3) * (chosen[0] - size_ - 0.3));
    const double warps = std::exp(-0.4 * (chosen[2] - chosen[0]) * (chosen[2] - chosen[0]));
    return tile * warps * (0.7 + 0.15 * chosen[1]);
  }
  double best() {
    double most = 0;
    for (int a = 0; a < values[0]; ++a)
      for (int b = 0; b < values[1]; ++b)
        for (int c = 0; c < values[2]; ++c) most = std::max(most, reward(std::vector{a, b, c}));
    return most;
  }

 private:
  int size_;
};

TrainOptions toy_options(uint64_t seed) {
  return {.seed = seed,
          .answers = 16,
          .updates = 1,
          .adam = {.rate = 0.01},
          .grpo = {.kl = 0, .entropy = 0.01},
          .first_entropy = 1,
          .cooling = 100};
}

TEST(Grpo, ThreeSeedsLearnABandit) {
  for (uint64_t seed : {1, 2, 3}) {
    Questions questions;
    questions.push_back(std::make_unique<Bandit>());
    Trainer trainer(Scorer({{4, 16}}, seed), toy_options(seed));
    for (int i = 0; i < 120; ++i) trainer.step(questions);
    double sum = 0;
    Draw draw(seed);
    for (int i = 0; i < 100; ++i)
      sum += sample(trainer.policy(), trainer.reference(), *questions[0], draw).reward;
    EXPECT_GE(sum / 100, 0.95) << seed;
  }
}

TEST(Grpo, ThreeSeedsLearnASchedule) {
  for (uint64_t seed : {1, 2, 3}) {
    Questions questions;
    for (int size = 0; size < 3; ++size) questions.push_back(std::make_unique<Schedule>(size));
    Trainer trainer(Scorer({{12, 32, 16}}, seed), toy_options(seed));
    for (int i = 0; i < 120; ++i) trainer.step(questions);
    double reached = 0, most = 0;
    for (const auto& question : questions) {
      reached += question->reward(greedy(trainer.policy(), *question));
      most += static_cast<Schedule&>(*question).best();
    }
    EXPECT_GE(reached / most, 0.95) << seed;
  }
}

TEST(Grpo, AKilledRunGoesOnWithTheSameCurve) {
  const auto folder = ScratchFolder::create("learn");
  const fs::path file = folder->path() / "checkpoint.safetensors";
  Questions questions;
  for (int size = 0; size < 3; ++size) questions.push_back(std::make_unique<Schedule>(size));
  const TrainOptions options{.seed = 5, .questions = 2};
  Trainer whole(Scorer({{12, 8}}, 5), options);
  std::vector<double> curve;
  for (int i = 0; i < 8; ++i) {
    const TrainStep step = whole.step(questions);
    curve.push_back(step.reward + step.loss.loss);
    if (i == 3) {
      ASSERT_TRUE(write_checkpoint(file, whole, "{}"));
    }
  }
  auto read = read_checkpoint(file);
  ASSERT_TRUE(read) << read.error().text();
  Trainer again(read->policy, read->reference, read->adam, read->steps, options);
  for (size_t i = 4; i < 8; ++i) {
    const TrainStep step = again.step(questions);
    EXPECT_EQ(step.reward + step.loss.loss, curve[i]) << i;
  }
  // A policy alone: rounded to FP32, and the same choices.
  const fs::path policy = folder->path() / "policy.safetensors";
  ASSERT_TRUE(write_policy(policy, std::span(&again.policy(), 1), "{\"seed\":5}"));
  auto shipped = read_policy(policy);
  ASSERT_TRUE(shipped) << shipped.error().text();
  EXPECT_EQ(shipped->about, "{\"seed\":5}");
  EXPECT_EQ(greedy(shipped->members[0], *questions[1]), greedy(again.policy(), *questions[1]));
  // A checkpoint is no policy, half a file is nothing.
  EXPECT_FALSE(read_policy(file));
  ASSERT_TRUE(write_file(policy, read_file(file)->substr(0, 200)));
  EXPECT_FALSE(read_checkpoint(policy));
  EXPECT_FALSE(read_checkpoint(folder->path() / "absent"));
}

}  // namespace
}  // namespace stitch::learn
