// The search over a clock that is made up, and the clock itself over a program on the emulated GPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/loop/tune.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/steps.h"
#include "program/include/stitch/program.h"
#include "verify/verify.h"

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

// Settings from end to end on the emulated GPU: a generated program, set through the runner, timed by the
// tuner's own clock, shipped with another value. Times mean nothing there; everything else does.

namespace {

// A product by cuBLASLt, a convolution by cuDNN, a loop, and rows that warps share.
constexpr const char* model = R"(graph "tuned"
parameter %w : f32[32,64]
parameter %k : f32[32,32,3,3]
input %x : f32[16,64]
input %image : f32[2,32,6,6]
%linear = linear(%x, %w) : f32[16,32]
%conv = conv(%image, %k) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[2,32,6,6]
%loop = sigmoid(%x) : f32[16,64]
%rows = softmax(%x) dim=1 : f32[16,64]
output %linear
output %conv
output %loop
output %rows
end
)";

class SettingsOfAProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder(*ScratchFolder::create("stitch-settings"));
    ASSERT_TRUE(write_file(folder->path() / "graph.txt", model));
    std::vector<float> numbers(32 * 32 * 9, 0.03F);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= static_cast<float>(i % 7) - 3;
    auto bytes = std::as_bytes(std::span(numbers));
    ASSERT_TRUE(write_safetensors(folder->path() / "weights.safetensors",
                                  {{"w", {{DType::f32, {32, 64}, {}}, bytes.first(32 * 64 * 4)}},
                                   {"k", {{DType::f32, {32, 32, 3, 3}, {}}, bytes}}}));
    auto task = must(verifier::open_task_to_judge(folder->path(), {}));
    auto opened = must(verifier::Verifier::open(std::move(task), {}));
    judge = opened.release();
    const Graph& graph = judge->task().graph;
    const GpuSpec gpu = *find_gpu("H200");
    const plan::Context context(graph, gpu, Numerics::standard);
    auto made = must(plan::make_plan(context, code::catalogue()));
    plan = new plan::Plan(std::move(made));
    auto written = must(code::write_program(context, *plan));
    contents = new PackageContents(std::move(written));
    ASSERT_TRUE(write_package(folder->path() / "program", *contents));
  }
  static void TearDownTestSuite() {
    delete contents;
    delete plan;
    delete judge;
    delete folder;
  }

  static verifier::VerifyOptions asked(const char* program) {
    return {.program = folder->path() / program, .quick = true};
  }
  // The setting of the region that makes this value.
  static std::string setting(std::string_view value, std::string_view what) {
    for (const ManifestRegion& region : contents->manifest.regions)
      for (const ManifestSetting& each : contents->manifest.settings)
        if (each.region == region.name && region.nodes.back() == value && each.name.ends_with(what))
          return each.name;
    return format("{} has no {}", value, what);
  }

  static ScratchFolder* folder;
  static verifier::Verifier* judge;
  static plan::Plan* plan;
  static PackageContents* contents;
};
ScratchFolder* SettingsOfAProgram::folder = nullptr;
verifier::Verifier* SettingsOfAProgram::judge = nullptr;
plan::Plan* SettingsOfAProgram::plan = nullptr;
PackageContents* SettingsOfAProgram::contents = nullptr;

TEST_F(SettingsOfAProgram, AreInTheManifestRegionByRegion) {
  std::vector<std::string> names;
  for (const ManifestSetting& each : contents->manifest.settings) names.push_back(each.name);
  EXPECT_EQ(setting("linear", "_matmul.algorithm").find(' '), std::string::npos) << join(names, ", ");
  EXPECT_EQ(setting("conv", "_convolution.algorithm").find(' '), std::string::npos) << join(names, ", ");
  EXPECT_EQ(setting("loop", ".threads").find(' '), std::string::npos) << join(names, ", ");
  EXPECT_EQ(setting("rows", ".threads").find(' '), std::string::npos) << join(names, ", ");
}

TEST_F(SettingsOfAProgram, ChangeOneSourceWhenTheyShip) {
  PackageContents other = *contents;
  code::set_values(other, {{setting("loop", ".threads"), 64}});
  for (const auto& [path, text] : contents->sources)
    EXPECT_EQ(other.sources.at(path) == text, path != "manifest.cu") << path;
  ASSERT_TRUE(write_package(folder->path() / "other", other));
  auto verdict = must(judge->judge(asked("other")));
  ASSERT_TRUE(verdict.passed()) << verdict.failure()->gate << ": " << verdict.failure()->summary;
  EXPECT_EQ(verdict.gate("load")->evidence->at("settings").at(setting("loop", ".threads")), 64);
}

TEST_F(SettingsOfAProgram, ReachItThroughTheRunner) {
  auto verdict = must(judge->judge(asked("program")));
  ASSERT_TRUE(verdict.passed()) << verdict.failure()->gate << ": " << verdict.failure()->summary;
  auto package = must(load_package(folder->path() / "program"));
  auto built = must(build::build(
      {.sources = package.sources, .include_dirs = package.include_dirs, .libraries = package.libraries}));

  auto arena = runner::Arena::create(1 << 20);
  ASSERT_TRUE(arena);
  auto candidate = must(runner::Candidate::start({}, *arena));
  auto loaded = candidate.load(built.library);
  ASSERT_TRUE(loaded.ok()) << loaded.failure->message;
  EXPECT_TRUE(loaded.value.libraries.empty());  // the emulated GPU's are no libraries of the program's
  std::vector<runner::TensorAt> parameters, inputs;
  std::vector<TensorType> outputs;
  const Signature& signature = contents->manifest.signature;
  for (const ManifestTensor& each : signature.parameters)
    parameters.push_back({each.type, *arena->allocate(each.type.bytes())});
  for (const ManifestTensor& each : signature.inputs)
    inputs.push_back({each.type, *arena->allocate(each.type.bytes())});
  for (const ManifestTensor& each : signature.outputs) outputs.push_back(each.type);
  auto placed = candidate.place(inputs);
  ASSERT_TRUE(placed.ok());

  const std::string threads = setting("loop", ".threads");
  auto block_of_the_loop = [&] {
    auto activities = candidate.profile(placed.value, outputs);
    EXPECT_TRUE(activities.ok());
    const std::string kernel = threads.substr(0, threads.find('.'));
    for (const runner::Activity& each : activities.value)
      if (each.name.find(kernel) != std::string::npos) return each.block[0];
    return 0;
  };
  ASSERT_TRUE(candidate.create(parameters).ok());
  EXPECT_EQ(block_of_the_loop(), 256);
  ASSERT_TRUE(candidate.create(parameters, {}, {{threads, 128}}).ok());
  EXPECT_EQ(block_of_the_loop(), 128);

  auto refused = [&](const runner::Settings& settings) {
    auto reply = candidate.create(parameters, {}, settings);
    return reply.ok() ? std::string("accepted")
                      : format("{} {}", reply.failure->code, reply.failure->message);
  };
  EXPECT_EQ(refused({{"nobody.threads", 1}}), "1 there is no setting nobody.threads");
  EXPECT_EQ(refused({{threads, 100}}), format("1 setting {}: 100 is none of its values", threads));
  EXPECT_EQ(refused({{setting("linear", "algorithm"), 7}}), "4 cuBLASLt: algorithm 7 of 1 for 16 x 32 x 64");
  EXPECT_EQ(refused({{setting("linear", "algorithm"), 0}}), "accepted");
}

TEST_F(SettingsOfAProgram, AreTimedAgainstTheBestSoFar) {
  verifier::VerifyOptions options = asked("program");
  auto clock = must(judge->settings_clock(options));
  EXPECT_EQ(clock->machine(), "emulated");
  auto refused = clock->challenge({{setting("linear", "algorithm"), 5}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "refused");
  ASSERT_TRUE(clock->challenge({{setting("rows", ".threads"), 64}, {setting("conv", "algorithm"), 1}}));
  auto round = must(clock->round());
  EXPECT_GT(round.best, 0);
  EXPECT_GT(round.challenger, 0);
  clock->crown();
  ASSERT_TRUE(clock->challenge({{setting("loop", ".threads"), 64}}));
  EXPECT_TRUE(clock->round());
}

// Which values win is chance there: every one of them has to be right or out of the question.
TEST_F(SettingsOfAProgram, AreAllTried) {
  verifier::VerifyOptions options = asked("program");
  auto clock = must(judge->settings_clock(options));
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(judge->task().graph, gpu, Numerics::standard);
  auto tunables = tunables_of(context, *plan, contents->manifest);
  EXPECT_EQ(tunables.size(), 5u);
  Tuned tuned = tune(tunables, *clock, TuningCache("emulated", folder->path() / "tuning"), {});
  EXPECT_EQ(tuned.ended, "");
  EXPECT_EQ(tuned.tried, 1 + 7 + 7 + 2 + 2);  // the first: how kernels are launched
  for (const DroppedValue& each : tuned.dropped)
    EXPECT_TRUE(each.name.ends_with(".algorithm")) << each.name << ": " << each.reason;
}

}  // namespace

}  // namespace stitch::agents
