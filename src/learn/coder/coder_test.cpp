#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "code/catalogue.h"
#include "code/write_program.h"
#include "learn/coder/alone.h"
#include "learn/coder/candidates.h"
#include "learn/coder/collect.h"
#include "learn/coder/compare.h"
#include "learn/coder/timings.h"
#include "learn/coder/train.h"
#include "learn/synthesis/compose.h"

namespace stitch::learn {
namespace {

// Problems of synthetic tasks, the same for all tests.
const std::vector<RegionProblem>& problems() {
  static const std::vector<RegionProblem> all = [] {
    std::vector<RegionProblem> out;
    for (int64_t number = 0; number < 12; ++number) {
      auto composed = compose(3, number, Scale::full);
      if (!composed) continue;
      auto task =
          plan_task(composed->name, std::move(composed->graph), *find_gpu("H200"), Numerics::standard);
      EXPECT_TRUE(task) << task.error().text();
      for (RegionProblem& problem : problems_of(*task)) out.push_back(std::move(problem));
    }
    return out;
  }();
  return all;
}

TEST(CompactCoder, EveryChoiceIsLegalReadBackAndARowOfNumbers) {
  ASSERT_GT(problems().size(), 10U);
  EstimatedTimes times;
  std::set<plan::Kind> kinds;
  for (const RegionProblem& problem : problems()) {
    kinds.insert(plan::kind_of(problem.context().graph, problem.now()));
    RegionQuestion question(problem, times);
    ASSERT_GE(question.choices().size(), 2U) << problem.task->name << " " << problem.now().name;
    EXPECT_EQ(choice_text(question.choices()[0]), choice_text(problem.now()));
    const std::vector<float> rows = question.options({});
    ASSERT_EQ(rows.size(), question.choices().size() * static_cast<size_t>(feature_count()));
    for (float value : rows) ASSERT_TRUE(std::isfinite(value));
    for (size_t i = 0; i < std::min<size_t>(question.choices().size(), 24); ++i) {
      const plan::Region& region = question.choices()[i];
      EXPECT_TRUE(region.technique->accepts(problem.context(), region));
      const auto back = read_choice(problem.context(), problem.plan(), problem.now(), code::catalogue(),
                                    choice_text(region));
      ASSERT_TRUE(back) << choice_text(region);
      EXPECT_EQ(choice_text(*back), choice_text(region));
    }
    for (const std::string text :
         {"", "loop", "loop by_class row_major threads=7777", "conv.none by_class row_major"})
      EXPECT_FALSE(read_choice(problem.context(), problem.plan(), problem.now(), code::catalogue(), text));
  }
  EXPECT_GE(kinds.size(), 3U);
}

// What an approximate technique takes depends on the values, and measured ones are drawn.
TEST(CompactCoder, ApproximateTechniquesAreOptionsOnlyWhereTheySuit) {
  int left_out = 0;
  for (const RegionProblem& problem : problems()) {
    const plan::Region& now = problem.now();
    const std::vector<plan::Way> ways = ways_of(problem.context(), problem.plan(), now, code::catalogue());
    for (const plan::Technique* technique : code::catalogue().all()) {
      if (technique->entry() != plan::Entry::approximate || technique == now.technique ||
          technique->kind() != plan::kind_of(problem.context().graph, now) ||
          !technique->accepts(problem.context(), now))
        continue;
      for (const plan::Offer& offer : technique->offers(problem.context(), now)) {
        if (technique->suits(problem.context(), with_way(problem.context(), now, {technique, offer}), offer))
          continue;
        ++left_out;
        for (const plan::Way& way : ways) EXPECT_FALSE(way.technique == technique && way.offer == offer);
      }
    }
  }
  EXPECT_GT(left_out, 0);
}

// One program with all variants of a region can be written, or its halves can.
TEST(CompactCoder, VariantsOfARegionMakeOneProgram) {
  int written = 0, refused = 0;
  for (const RegionProblem& problem : problems()) {
    const std::vector<plan::Region> variants = candidate_choices(problem, 12, 1);
    ASSERT_FALSE(variants.empty());
    std::set<std::string> different;
    for (const plan::Region& variant : variants) different.insert(choice_text(variant));
    EXPECT_EQ(different.size(), variants.size());
    const auto alone = region_alone(problem, variants);
    if (alone && code::write_program(*alone->task->context, alone->task->plan))
      ++written;
    else
      ++refused;
    // The choice that is there now is always possible alone.
    const auto single = region_alone(problem, std::span(variants).first(1));
    ASSERT_TRUE(single) << problem.task->name << ": " << single.error().text();
    EXPECT_TRUE(code::write_program(*single->task->context, single->task->plan)) << choice_text(variants[0]);
  }
  EXPECT_GT(written, 3 * refused);
}

// On the emulated GPU: its times mean nothing, the road to them is the same.
TEST(CompactCoder, VariantsAreMeasuredAndABadOneCostsTheOthersNothing) {
  ::setenv("STITCHCUDA_CACHE", STITCH_BINARY_DIR "/cache", 1);
  for (int64_t number = 0; number < 12; ++number) {
    auto composed = compose(3, number, Scale::miniature);
    if (!composed) continue;
    auto task =
        plan_task(composed->name, std::move(composed->graph), *find_gpu("H200"), Numerics::standard, "a set");
    ASSERT_TRUE(task) << task.error().text();
    for (const RegionProblem& problem : problems_of(*task)) {
      if (plan::kind_of(problem.context().graph, problem.now()) != plan::Kind::loop) continue;
      std::vector<plan::Region> variants = candidate_choices(problem, 3, 1);
      ASSERT_GE(variants.size(), 2U);
      variants.insert(variants.begin() + 1, variants[0]);
      variants[1].choices["threads"] = 7777;
      auto measured = measure(problem, variants, {.device = runner::Device::emulated, .repeats = 2});
      ASSERT_TRUE(measured) << measured.error().text();
      EXPECT_FALSE(measured->trouble.empty());
      for (size_t i = 0; i < variants.size(); ++i)
        EXPECT_EQ(measured->timed[i].kind, i == 1 ? Timed::Kind::failed : Timed::Kind::timed)
            << choice_text(variants[i]) << measured->trouble;
      return;
    }
  }
  FAIL() << "no region to try";
}

TEST(CompactCoder, DisputedRegionsAreThoseTheCostModelWouldChooseOtherwiseFor) {
  constexpr size_t choices = 8;
  std::set<std::string> found;
  for (const RegionProblem& problem : disputed(problems(), choices, 1)) found.insert(problem.key);
  std::set<std::string> wanted;
  EstimatedTimes times;
  for (const RegionProblem& problem : problems()) {
    double least = INFINITY;
    for (const plan::Region& each : candidate_choices(problem, choices, 1))
      least = std::min(least, times.of(problem, each).seconds);
    if (least < times.of(problem, problem.now()).seconds) wanted.insert(problem.key);
  }
  EXPECT_EQ(found, wanted);
  EXPECT_FALSE(found.empty());
  EXPECT_LT(found.size(), problems().size());
}

TEST(CompactCoder, EverySetAndKindHasItsShareOfTheMeasuring) {
  const std::vector<RegionProblem> ordered = in_fair_order(problems());
  ASSERT_EQ(ordered.size(), problems().size());
  std::set<plan::Kind> all, first;
  std::set<std::string> keys;
  for (const RegionProblem& problem : ordered) {
    all.insert(plan::kind_of(problem.context().graph, problem.now()));
    keys.insert(problem.key);
    if (keys.size() <= all.size()) first = all;
  }
  EXPECT_EQ(first, all) << "one of each kind comes before a second one of any";
}

TEST(CompactCoder, TimingsAreReadBackAndDamageIsNamed) {
  const auto folder = ScratchFolder::create("learn");
  const fs::path file = folder->path() / "timings.jsonl";
  ASSERT_TRUE(append(file, {{"H200", "t", "r", "k", "a", {Timed::Kind::timed, 1e-5}},
                            {"H200", "t", "r", "k", "b", {Timed::Kind::failed, 0}}}));
  auto read = Timings::read(file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->size(), 2U);
  EXPECT_EQ(read->of("k")->at("a").seconds, 1e-5);
  EXPECT_EQ(read->of("k")->at("b").kind, Timed::Kind::failed);
  const std::string text = *read_file(file);
  ASSERT_TRUE(write_file(file, text + "{\"key\": \"k\", \"cho"));  // killed while writing
  EXPECT_TRUE(Timings::read(file));
  ASSERT_TRUE(write_file(file, "{}\n" + text));
  read = Timings::read(file);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where, file.string() + ":1");
  ASSERT_TRUE(write_file(file, "{\"key\":\"k\",\"choice\":\"c\",\"seconds\":NaN}\n\n"));
  EXPECT_FALSE(Timings::read(file));
}

// A made-up machine on which the built-in choice is never the best: training finds what is.
class MadeUpTimes final : public Times {
 public:
  Timed of(const RegionProblem& problem, const plan::Region& chosen) override {
    const bool now = choice_text(chosen) == choice_text(problem.now());
    const double knobs = static_cast<double>(chosen.choices.size());
    return {Timed::Kind::timed, 1e-5 * (now ? 2.0 : 1.0 + 0.3 * knobs)};
  }
};

TEST(CompactCoder, TrainingFindsWhatIsFasterAndGoesOnWhereItWasKilled) {
  const std::vector<RegionProblem> some(problems().begin(), problems().begin() + 6);
  MadeUpTimes times;
  CoderTrainOptions options;
  options.members = 1;
  options.steps = 12;
  options.warm_up = 1;
  options.check_every = 4;
  options.patience = 0;
  options.known_after = 1;
  options.hidden = {16};
  options.train.questions = 6;
  options.train.adam.rate = 1e-2;
  std::vector<double> curve, again;
  const auto folder = ScratchFolder::create("learn");
  auto whole = train_coder(some, some, times, options,
                           {.on_step = [&](const CurvePoint& point) { curve.push_back(point.step.reward); }});
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_LT(whole->validation, 0.75);
  // Killed after step 6: the last checkpoint is of step 4.
  CoderTrainHooks hooks{.checkpoint = folder->path() / "checkpoint.safetensors"};
  int steps = 0;
  hooks.should_stop = [&] { return steps++ == 6; };
  ASSERT_TRUE(train_coder(some, some, times, options, hooks));
  EXPECT_EQ(*steps_in(hooks.checkpoint), 4);
  hooks.should_stop = {};
  hooks.on_step = [&](const CurvePoint& point) { again.push_back(point.step.reward); };
  auto resumed = train_coder(some, some, times, options, hooks);
  ASSERT_TRUE(resumed) << resumed.error().text();
  ASSERT_EQ(again.size(), 8U);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(again[i], curve[curve.size() - 8 + i]) << i;
  EXPECT_EQ(resumed->validation, whole->validation);
  // Other settings are not the same run.
  options.train.seed = 9;
  EXPECT_FALSE(train_coder(some, some, times, options, hooks));
  // Nothing to learn from.
  auto empty = train_coder({}, {}, times, options, {});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, "empty");
  const Comparison comparison = compare(whole->committee, some, times, 1);
  EXPECT_EQ(comparison.problems, 6);
  for (const ComparedRegion& region : comparison.regions) {
    ASSERT_EQ(region.after_a_quarter.size(), region.trials.size());
    for (size_t i = 0; i < region.trials.size(); ++i) {
      EXPECT_GE(region.after_a_quarter[i].second, 1);
      EXPECT_EQ(region.after_a_quarter[i].second <= 1.05,
                region.trials[i].second <= std::max(1, region.choices / 4));
    }
    EXPECT_NE(region.chosen[3].second, region.chosen[1].second);  // the built-in choice is never the best
  }
  EXPECT_EQ(comparison.standings[1].mean, 1);
  EXPECT_LT(comparison.standings[0].mean, comparison.standings[3].mean);
}

// Times that nothing about a choice tells: what was learned from some tasks is wrong on the others.
class NoisyTimes final : public Times {
 public:
  Timed of(const RegionProblem& problem, const plan::Region& chosen) override {
    if (choice_text(chosen) == choice_text(problem.now())) return {Timed::Kind::timed, 1e-5};
    const uint64_t hash = stable_hash(problem.key + choice_text(chosen));
    return {Timed::Kind::timed, 1e-5 * (hash % 8 == 0 ? 0.9 : 1.2)};
  }
};

TEST(CompactCoder, KeepsToTheBuiltInChoiceWhereItKnowsNothing) {
  NoisyTimes noise;
  CoderTrainOptions options;
  options.steps = 0;
  options.warm_up = 8;
  options.known_after = 1;
  options.hidden = {8};
  auto careful = train_coder(problems(), problems(), noise, options, {});
  ASSERT_TRUE(careful) << careful.error().text();
  EXPECT_EQ(careful->committee.members.size(), 6U);
  EXPECT_GT(careful->out_of_sample_regions, 5);
  EXPECT_LE(careful->out_of_sample, 1);
  EXPECT_GE(careful->committee.caution, 1) << "taking each mean at its word would lose";
  // A way that training never saw is never proposed, nor is a change of one.
  Committee certain = careful->committee;
  certain.caution = 0;
  certain.known_ways = {"nothing like this"};
  RegionQuestion question(problems()[0], noise);
  EXPECT_EQ(decide(certain, question), 0U);
}

TEST(CompactCoder, RewardsOfEveryKindAreOrderedBySpeed) {
  EstimatedTimes times;
  const RegionProblem& problem = problems()[0];
  for (const rubric::RewardInfo& kind : rubric::all_rewards()) {
    const RewardOf reward = reward_by(kind.kind, rubric::Skill::from_scratch);
    const Timed slow{Timed::Kind::timed, 4e-5}, base{Timed::Kind::timed, 1e-5},
        fast{Timed::Kind::timed, 2.5e-6};
    const double low = reward(problem, problem.now(), slow, base),
                 high = reward(problem, problem.now(), fast, base);
    EXPECT_LE(low, high) << kind.name;
    EXPECT_GE(low, kind.least);
    EXPECT_LE(high, kind.most);
    EXPECT_LE(reward(problem, problem.now(), {Timed::Kind::failed, 0}, base), low) << kind.name;
    EXPECT_TRUE(std::isnan(reward(problem, problem.now(), {}, base)));
  }
}

}  // namespace
}  // namespace stitch::learn
