// Settings from end to end on the emulated GPU: a generated program, set through the runner, timed by the
// tuner's own clock, shipped with another value. Times mean nothing there; everything else does.
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
