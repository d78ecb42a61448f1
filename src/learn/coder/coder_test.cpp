#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/llm/scripted.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/safetensors.h"
#include "learn/coder/choices.h"
#include "learn/coder/collect.h"
#include "learn/coder/measure.h"
#include "learn/coder/propose.h"
#include "learn/coder/region_question.h"
#include "learn/coder/table.h"
#include "learn/synthesis/recipes.h"

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
    const std::vector<float> rows = question.features();
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
    auto task = must(plan_task(composed->name, std::move(composed->graph), *find_gpu("H200"),
                               Numerics::standard, "a set"));
    for (const RegionProblem& problem : problems_of(task)) {
      if (plan::kind_of(problem.context().graph, problem.now()) != plan::Kind::loop) continue;
      std::vector<plan::Region> variants = candidate_choices(problem, 3, 1);
      ASSERT_GE(variants.size(), 2U);
      variants.insert(variants.begin() + 1, variants[0]);
      variants[1].choices["threads"] = 7777;
      auto measured = must(measure(problem, variants, {.device = runner::Device::emulated, .repeats = 2}));
      EXPECT_FALSE(measured.trouble.empty());
      for (size_t i = 0; i < variants.size(); ++i)
        EXPECT_EQ(measured.timed[i].kind, i == 1 ? Timed::Kind::failed : Timed::Kind::timed)
            << choice_text(variants[i]) << measured.trouble;
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

// PyTorch's forward pass over the same rows: python/stitchcuda_torch/train_coder_test.py computes the file's
// scores again.
TEST(CompactCoder, TheShippedWeightsScoreAsInPyTorch) {
  const auto committee = must(load_coder(shipped_coder));
  const auto text = must(read_file(STITCH_SOURCE_DIR "/src/learn/coder/testdata/scores_of_sm_90.json"));
  const Json wanted = *parse_json(text);
  ASSERT_EQ(wanted.size(), committee.members.size());
  const size_t count = wanted[0].size();
  std::vector<float> rows;
  for (int r = 0; r < static_cast<int>(count); ++r)
    for (int i = 0; i < feature_count(); ++i)
      rows.push_back(static_cast<float>((37 * i + 101 * r) % 17 - 8) / 8.0F);
  for (size_t m = 0; m < committee.members.size(); ++m) {
    const std::vector<double> scores = committee.members[m].score(rows);
    for (size_t r = 0; r < count; ++r)
      EXPECT_NEAR(scores[r], wanted[m][r].get<double>(), 1e-9 * (1 + std::abs(scores[r]))) << m << " " << r;
  }
}

// Scores the first choice after the built-in one by its only difference from it: whether it is the built-in.
Committee prefers_others(double by) {
  std::vector<double> parameters(static_cast<size_t>(feature_count()) + 1, 0.0);
  // The flag "is the built-in choice" has another value in row 0 than in any other row.
  EstimatedTimes times;
  RegionQuestion question(problems()[0], times);
  const std::vector<float>& rows = question.features();
  const auto width = static_cast<size_t>(feature_count());
  for (size_t i = 0; i < width; ++i) {
    bool only_first = rows[i] == 1;
    for (size_t r = 1; r < question.choices().size(); ++r) only_first &= rows[r * width + i] == 0;
    if (only_first) parameters[i] = -by * sharpness;
  }
  const Scorer scorer({{feature_count()}}, parameters);
  return {.members = {scorer, scorer}, .caution = 1};
}

TEST(CompactCoder, DecidesByForecastsAndOnlyAmongWaysItKnows) {
  EstimatedTimes times;
  RegionQuestion question(problems()[0], times);
  Committee committee = prefers_others(0.1);
  EXPECT_NE(decide(committee, question), 0U);
  EXPECT_NEAR(forecasts(committee.members, question)[1].mean, -0.1, 1e-6);
  EXPECT_EQ(decide(prefers_others(0.01), question), 0U) << "under the least gain";
  EXPECT_EQ(decide(prefers_others(-0.1), question), 0U);
  committee.known_ways = {"nothing like this"};
  EXPECT_EQ(decide(committee, question), 0U);
}

TEST(CompactCoder, TheTableHasARowForEachChoice) {
  const auto folder = ScratchFolder::create("learn");
  const fs::path file = folder->path() / "table.safetensors";
  EstimatedTimes times;
  const std::vector<RegionProblem> some(problems().begin(), problems().begin() + 3);
  const Calibration fitted = fit_calibration(some, times);
  const auto written =
      must(write_table(file, {{"train", some}, {"mine", {problems()[3]}}}, times, {{"fitted", fitted}}));
  EXPECT_EQ(written, 3U);
  const auto table = must(Safetensors::open(file));
  size_t rows = 0;
  for (size_t i = 0; i < 4; ++i) rows += RegionQuestion(problems()[i], times).choices().size();
  const auto count = static_cast<int64_t>(rows);
  EXPECT_EQ(table.find("features")->type.shape, (Shape{count, feature_count()}));
  EXPECT_EQ(table.find("estimates")->type.shape, (Shape{2, count}));
  EXPECT_EQ(table.find("first")->type.shape, Shape{5});
  const auto bytes = table.find("about")->bytes;
  const auto about = must(parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  EXPECT_EQ(about["choices"].size(), rows);
  EXPECT_EQ(about["questions"][3]["set"], "mine");
  EXPECT_EQ(about["questions"][0]["key"], problems()[0].key);
}

// The Python process is ended like any child; its checkpoint is of the last whole epoch.
TEST(CompactCoder, TrainingThatIsStoppedContinuesWithTheSameCurve) {
  const auto whole = ScratchFolder::create("learn"), stopped = ScratchFolder::create("learn");
  EstimatedTimes times;
  const TrainOptions options{.members = 3, .epochs = 6};
  auto train = [&](const fs::path& folder, int stop_after) {
    EXPECT_TRUE(write_table(folder / "table.safetensors",
                            {{"train", problems()}, {"held-out", {problems()[0]}}}, times, {}));
    std::vector<Json> curve;
    auto done = train_coder(folder, options,
                            {.on_epoch = [&](const Json& point) { curve.push_back(point); },
                             .should_stop = [&] { return std::ssize(curve) == stop_after; }});
    EXPECT_TRUE(done) << done.error().text();
    EXPECT_EQ(done && done->has_value(), stop_after < 0);
    return curve;
  };
  const std::vector<Json> curve = train(whole->path(), -1);
  ASSERT_EQ(curve.size(), 6U);
  EXPECT_LT(curve[5]["loss"], curve[0]["loss"]);
  train(stopped->path(), 2);
  EXPECT_EQ(train(stopped->path(), -1), curve);
  const auto committee = must(load_coder(stopped->path() / "coder.safetensors"));
  EXPECT_EQ(committee.members.size(), 3U);
}

}  // namespace

// The compact Coder in the loop: its choices are the last step, and the Verifier decides.

namespace {

namespace scripted = agents::scripted;
using scripted::is_wrong, scripted::passes, scripted::ScriptedCoder, scripted::ScriptedPlanner,
    scripted::ScriptedVerifier;

struct LearnedLoop {
  Result<agents::Optimized> run(std::deque<scripted::Answer> answers) {
    task.graph = *parse_graph(R"(graph "learned"
parameter %w : f32[1024,1024]
parameter %v : f32[1024,1024]
input %x : f32[512,1024]
%first = linear(%x, %w) : f32[512,1024]
%active = relu(%first) : f32[512,1024]
%second = linear(%active, %v) : f32[512,1024]
%rows = softmax(%second) dim=1 : f32[512,1024]
output %rows
end
)");
    scratch.emplace(*ScratchFolder::create("stitch-learned"));
    agents::OptimizeOptions options;
    options.out = scratch->path() / "out";
    const plan::Context context(task.graph, gpu, Numerics::standard);
    agents::Brains brains;
    std::vector<double> weights;  // large and different: sure of something
    for (int i = 0; i <= feature_count(); ++i) weights.push_back(i * 37 % 17 - 8.0);
    brains.planner = learned_planner(std::make_unique<ScriptedPlanner>(std::vector<std::string>{"plain"}),
                                     {.members = {Scorer({{feature_count()}}, weights)}, .caution = 0});
    brains.coder = std::make_unique<ScriptedCoder>();
    brains.verifier = std::make_unique<ScriptedVerifier>(std::move(answers));
    return agents::optimize(task, context, brains, options);
  }
  std::string shipped() const {
    auto text = read_file(scratch->path() / "out" / "program.cu");
    return text ? *text : text.error().text();
  }

  Task task{.source = "learned.py"};
  const GpuSpec gpu = *find_gpu("H200");
  std::optional<ScratchFolder> scratch;
};

TEST(LearnedChoices, StayWhereTheVerifierFindsThemBetter) {
  LearnedLoop loop;
  auto out = must(loop.run({passes(4), passes(3), passes(3)}));
  ASSERT_EQ(out.ledger.entries.size(), 2U);
  EXPECT_EQ(out.ledger.entries[1].step, learned_step);
  EXPECT_EQ(out.ledger.entries[1].outcome, agents::Outcome::better);
  EXPECT_NE(loop.shipped().find("// learned choices 1"), std::string::npos);
}

TEST(LearnedChoices, AreRolledBackWhereTheyAreSlowerOrWrong) {
  for (const scripted::Answer& answer : {passes(5), is_wrong()}) {
    LearnedLoop loop;
    auto out = must(loop.run({passes(4), answer, passes(4)}));
    ASSERT_EQ(out.ledger.entries.size(), 2U);
    EXPECT_NE(out.ledger.entries[1].outcome, agents::Outcome::better);
    EXPECT_NE(loop.shipped().find("// plain 1"), std::string::npos);
  }
}

}  // namespace

}  // namespace stitch::learn
