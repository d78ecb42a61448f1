// Examples of every family become programs that the Verifier passes on the emulated GPU, after every step in
// class default, the smallest also plain and in class strict, on one seed. STITCHCUDA_ALL_EXAMPLES=1: all
// examples, one of every family in all ways; through every gate: ./dev programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/file.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "gpu/gpu_spec.h"
#include "plan/steps.h"
#include "program/fold.h"
#include "program/package.h"
#include "verify/verify.h"

namespace stitch::agents {

namespace {

bool wants_all() { return std::getenv("STITCHCUDA_ALL_EXAMPLES") != nullptr; }

// Among them every family of techniques, by the smallest that has it.
bool is_of_its_family(const std::string& example) {
  constexpr std::array chosen = {"mlp",        "lenet5",    "gru",    "lstm_bidirectional",
                                 "gpt_block",  "inception", "mamba2", "mixture_of_experts",
                                 "dropout_mlp"};
  return std::ranges::find(chosen, example) != chosen.end();
}

bool is_judged_in_all_ways(const std::string& example) {
  return wants_all() ? is_of_its_family(example) : example == "mlp" || example == "gru";
}

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(STITCH_SOURCE_DIR "/examples")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".py" && (wants_all() || is_of_its_family(name))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Lines that a person has to scroll for, as FILE: LINE.
std::vector<std::string> long_lines(const PackageContents& contents) {
  std::vector<std::string> out;
  for (const auto& [path, text] : contents.sources)
    for (const std::string& line : split(text, '\n'))
      if (line.size() > generated_columns) out.push_back(path + ": " + line);
  return out;
}

class EveryExample : public testing::TestWithParam<std::string> {
 protected:
  static void judge(verifier::Verifier& verifier, Numerics numerics, bool plain, const fs::path& folder) {
    const Graph& graph = verifier.task().graph;
    SCOPED_TRACE(std::string(name(numerics)) + (plain ? ", plain" : ", every step"));
    const GpuSpec gpu = *find_gpu("H200");
    const plan::Context context(graph, gpu, numerics);
    auto plan = must(plan::plan_of_steps(context, code::catalogue(),
                                         [&](const plan::StepRule& rule) { return !plain && !rule.rounds; }));
    auto contents = must(code::write_program(context, plan));
    EXPECT_EQ(long_lines(contents), std::vector<std::string>{});
    auto written = must(write_package(folder, contents));
    auto verdict = must(verifier.judge({.program = folder, .numerics = numerics, .quick = true}));
    EXPECT_TRUE(verdict.passed()) << verdict.failure()->gate << ": " << verdict.failure()->summary;
  }
};

TEST_P(EveryExample, PassesPlainAndOptimised) {
  const fs::path task = fs::path(STITCH_SOURCE_DIR "/examples") / (GetParam() + ".py");
  auto scratch = must(ScratchFolder::create("stitchcuda-example"));
  int number = 0;
  auto opened = must(open_task(task, {.limits = code::limits_on(*find_gpu("H200"))}));
  const bool all = is_judged_in_all_ways(GetParam());
  for (auto numerics : {Numerics::strict, Numerics::standard}) {
    if (numerics == Numerics::strict && !all) continue;
    auto verifier = must(verifier::Verifier::open({opened, {}}, {.numerics = numerics}));
    for (bool plain : {true, false})
      if (!plain || numerics == Numerics::strict)
        judge(*verifier, numerics, plain, scratch.path() / std::to_string(number++));
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryExample, testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param; });

}  // namespace

// A batch norm that was folded into a convolution, and a clamp behind it, before every gate: regions pack
// folded weights when a program is created, and what they store in fp16 may be faint.

namespace {

// The model of testdata/tasks/conv_norm with a ReLU6.
Result<fs::path> clamped_task(const fs::path& folder) {
  fs::copy(STITCH_SOURCE_DIR "/src/verify/testdata/tasks/conv_norm/graph", folder);
  STITCH_TRY(std::string text, read_file(folder / "graph.txt"));
  const std::string relu = "= relu(%batch_norm) :";
  text.replace(text.find(relu), relu.size(), "= clamp(%batch_norm) low=0.0 high=6.0 :");
  STITCH_CHECK(write_file(folder / "graph.txt", text));
  return folder;
}

TEST(FoldedNorms, PassAloneOnFaintRows) {
  auto scratch = must(ScratchFolder::create("stitchcuda-folded"));
  auto task = must(clamped_task(scratch.path() / "graph"));
  auto opened = must(verifier::open_task_to_judge(task, {}));
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(opened.task->graph, gpu, Numerics::standard);
  auto plan =
      must(plan::plan_of_steps(context, code::catalogue(), [](const plan::StepRule&) { return true; }));
  auto contents = must(code::write_program(context, plan));
  const fs::path program = scratch.path() / "program";
  ASSERT_TRUE(write_package(program, contents));
  auto verifier = must(verifier::Verifier::open(std::move(opened), {.numerics = Numerics::standard}));
  auto verdict = must(verifier->judge({.program = program, .numerics = Numerics::standard}));
  EXPECT_TRUE(verdict.passed()) << verdict.failure()->gate << ": " << verdict.failure()->summary;
  ASSERT_TRUE(verdict.gate("regions"));
  EXPECT_NE(verdict.gate("regions")->summary.find("on faint rows too"), std::string::npos)
      << verdict.gate("regions")->summary;
}

}  // namespace

}  // namespace stitch::agents
