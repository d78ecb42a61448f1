// The search over a clock that is made up, and the clock itself over a program on the emulated GPU.
#include "agents/loop/tune.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"

namespace stitch::agents {
namespace {

using runner::Settings;

// A program whose time is a function of its settings. Every call drifts, and every round jitters.
class MadeUpClock final : public verifier::SettingsClock {
 public:
  std::function<double(const Settings&)> seconds;
  std::function<std::optional<Error>(const Settings&)> trouble;
  double jitter = 0;
  std::vector<Settings> challenged;
  int rounds = 0;

  Result<void> challenge(const Settings& settings) override {
    challenged.push_back(settings);
    challenger_ = settings;
    if (trouble)
      if (auto error = trouble(settings)) return *error;
    return {};
  }
  Result<Round> round() override {
    const double drift = 1 + 0.05 * ++rounds, shaken = 1 + jitter * (7 * rounds % 5 - 2) / 2.0;
    return Round{drift * seconds(best_), drift * shaken * seconds(challenger_)};
  }
  void crown() override { best_ = challenger_; }
  std::string machine() const override { return "made up"; }

 private:
  Settings best_, challenger_;
};

double at(const Settings& settings, const std::string& name, int64_t value, double then, double otherwise) {
  auto found = settings.find(name);
  return found != settings.end() && found->second == value ? then : otherwise;
}

class Tuner : public testing::Test {
 protected:
  Tuner() : folder_(*ScratchFolder::create("stitch-tune")) {
    clock.seconds = [](const Settings& settings) {
      return at(settings, "fc1.algorithm", 2, 6, 10) + at(settings, "relu.threads", 128, 1, 2);
    };
  }
  Tuned run() { return tune(tunables, clock, TuningCache("made up", folder_.path()), options); }

  std::vector<Tunable> tunables = {{{"fc1.algorithm"}, "a product", {0, 1, 2, 3}, 0, 10},
                                   {{"relu.threads"}, "a loop", {64, 128, 256}, 256, 2}};
  MadeUpClock clock;
  TuneOptions options;
  ScratchFolder folder_;
};

TEST_F(Tuner, FindsTheBestValueOfEach) {
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 2}, {"relu.threads", 128}}));
  EXPECT_NEAR(tuned.gain, 12.0 / 7, 1e-9);
  EXPECT_EQ(tuned.tried, 5);
  EXPECT_EQ(tuned.kept, 2);
  EXPECT_TRUE(tuned.ended.empty());
  // The heaviest first, what was found kept.
  EXPECT_EQ(clock.challenged[0], (Settings{{"fc1.algorithm", 1}}));
  EXPECT_EQ(clock.challenged[3], (Settings{{"fc1.algorithm", 2}, {"relu.threads", 64}}));
}

TEST_F(Tuner, AGainWithinTheSpreadIsNone) {
  clock.seconds = [](const Settings& settings) { return at(settings, "fc1.algorithm", 3, 9.9, 10); };
  clock.jitter = 0.02;
  EXPECT_TRUE(run().settings.empty());
  clock.jitter = 0.002;
  fs::remove_all(folder_.path());
  EXPECT_EQ(run().settings, (Settings{{"fc1.algorithm", 3}}));
}

TEST_F(Tuner, DropsWhatIsRefusedWrongOrHangs) {
  clock.trouble = [](const Settings& settings) -> std::optional<Error> {
    if (at(settings, "fc1.algorithm", 1, 1, 0) > 0) return user_error("hung", "it hung");
    if (at(settings, "fc1.algorithm", 3, 1, 0) > 0) return user_error("refused", "algorithm 3 of 3");
    if (at(settings, "relu.threads", 64, 1, 0) > 0) return user_error("wrong", "'y' is wrong");
    return std::nullopt;
  };
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 2}, {"relu.threads", 128}}));
  ASSERT_EQ(tuned.dropped.size(), 3u);
  EXPECT_EQ(tuned.dropped[0].name, "fc1.algorithm");
  EXPECT_EQ(tuned.dropped[0].value, 1);
  EXPECT_EQ(tuned.dropped[0].reason, "it hung");
  EXPECT_EQ(to_json(tuned)["dropped"][2]["reason"], "'y' is wrong");
}

TEST_F(Tuner, TroubleOfOurOwnEndsItWithWhatIsFound) {
  clock.trouble = [](const Settings& settings) -> std::optional<Error> {
    if (settings.contains("relu.threads")) return work_error("memory", "no memory is left");
    return std::nullopt;
  };
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 2}}));
  EXPECT_EQ(tuned.ended, "no memory is left");
  EXPECT_EQ(tuned.tried, 4);
}

TEST_F(Tuner, StopsWhenTheTimeIsUp) {
  options.seconds_left = [&] { return 2.5 - static_cast<double>(clock.challenged.size()); };
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 2}}));
  EXPECT_EQ(tuned.ended, "the time is up");
  EXPECT_EQ(clock.challenged.size(), 3u);
  // Half a search is no decision.
  clock.challenged.clear();
  options = {};
  EXPECT_EQ(run().known, 1);
}

TEST_F(Tuner, TheNextRunTakesWhatIsKnownAtOnce) {
  run();
  MadeUpClock fresh;
  fresh.seconds = clock.seconds;
  clock = fresh;
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 2}, {"relu.threads", 128}}));
  EXPECT_EQ(tuned.known, 2);
  EXPECT_EQ(tuned.tried, 1);
}

TEST_F(Tuner, AdviceThatNoLongerHoldsIsNotTaken) {
  run();
  MadeUpClock fresh;
  fresh.seconds = [](const Settings& settings) {
    return at(settings, "fc1.algorithm", 1, 7, 10) + at(settings, "relu.threads", 128, 1, 2);
  };
  fresh.trouble = [](const Settings& settings) -> std::optional<Error> {
    if (at(settings, "fc1.algorithm", 2, 1, 0) > 0) return user_error("refused", "algorithm 2 of 2");
    return std::nullopt;
  };
  clock = fresh;
  Tuned tuned = run();
  EXPECT_EQ(tuned.settings, (Settings{{"fc1.algorithm", 1}, {"relu.threads", 128}}));
}

TEST_F(Tuner, OtherMachinesKnowNothing) {
  run();
  EXPECT_TRUE(TuningCache("made up", folder_.path()).find("a product"));
  EXPECT_FALSE(TuningCache("another", folder_.path()).find("a product"));
  EXPECT_FALSE(TuningCache("made up", folder_.path()).find("another product"));
  // A truncated file, or another program's, is ignored.
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    ASSERT_TRUE(write_file(entry.path(), "{\"value\": 2"));
  EXPECT_FALSE(TuningCache("made up", folder_.path()).find("a product"));
}

TEST(Tunables, RegionsThatAreAlikeShareADecision) {
  auto graph = must(parse_graph(R"(graph "g"
parameter %w : f32[64,64]
parameter %u : f32[64,64]
parameter %v : f32[32,64]
input %x : f32[16,64]
%a = linear(%x, %w) : f32[16,64]
%b = linear(%a, %u) : f32[16,64]
%c = linear(%b, %v) : f32[16,32]
output %c
end
)"));
  plan::Plan plan = plan::empty_plan(graph, Numerics::standard);
  Manifest manifest;
  for (int32_t n : {0, 1, 2}) {
    plan::Region region{
        .name = format("fc{}", n), .technique = code::catalogue().find("matmul.cublaslt"), .nodes = {n}};
    plan::complete(graph, region);
    plan.regions.push_back(region);
    manifest.regions.push_back({.name = region.name, .file = "program.cu"});
    manifest.settings.push_back({region.name + "_matmul.algorithm", region.name, {0, 1}, 0});
  }
  manifest.settings.push_back({"fc0.only", "fc0", {0}, 0});
  manifest.settings.push_back({"programmatic_launches", "", {0, 1}, 0});
  const GpuSpec gpu = *find_gpu("H200");
  auto tunables = tunables_of({graph, gpu, Numerics::standard}, plan, manifest);
  ASSERT_EQ(tunables.size(), 3u);
  // The whole program's first: it is about all of a call.
  EXPECT_EQ(tunables[0].names, std::vector<std::string>{"programmatic_launches"});
  EXPECT_EQ(tunables[0].values, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(tunables[1].names, (std::vector<std::string>{"fc0_matmul.algorithm", "fc1_matmul.algorithm"}));
  EXPECT_GT(tunables[1].seconds, tunables[2].seconds);
  EXPECT_EQ(tunables[2].names, (std::vector<std::string>{"fc2_matmul.algorithm"}));
}

}  // namespace
}  // namespace stitch::agents
