// Examples of every family become programs that the Verifier passes on the emulated GPU, after every step in
// class default, the smallest also plain and in class strict, on one seed. STITCHCUDA_ALL_EXAMPLES=1: all
// examples, one of every family in all ways; through every gate: ./dev programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "gpu/gpu_spec.h"
#include "plan/steps.h"
#include "program/fold.h"
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
    auto plan = plan::plan_of_steps(context, code::catalogue(),
                                    [&](const plan::StepRule& rule) { return !plain && !rule.rounds; });
    ASSERT_TRUE(plan) << plan.error().text();
    auto contents = code::write_program(context, *plan);
    ASSERT_TRUE(contents) << contents.error().text();
    EXPECT_EQ(long_lines(*contents), std::vector<std::string>{});
    auto written = write_package(folder, *contents);
    ASSERT_TRUE(written) << written.error().text();
    auto verdict = verifier.judge({.program = folder, .numerics = numerics, .quick = true});
    ASSERT_TRUE(verdict) << verdict.error().text();
    EXPECT_TRUE(verdict->passed()) << verdict->failure()->gate << ": " << verdict->failure()->summary;
  }
};

TEST_P(EveryExample, PassesPlainAndOptimised) {
  const fs::path task = fs::path(STITCH_SOURCE_DIR "/examples") / (GetParam() + ".py");
  auto scratch = ScratchFolder::create("stitchcuda-example");
  ASSERT_TRUE(scratch);
  int number = 0;
  auto opened = open_task(task, {.limits = code::limits_on(*find_gpu("H200"))});
  ASSERT_TRUE(opened) << opened.error().text();
  const bool all = is_judged_in_all_ways(GetParam());
  for (auto numerics : {Numerics::strict, Numerics::standard}) {
    if (numerics == Numerics::strict && !all) continue;
    auto verifier = verifier::Verifier::open({*opened, {}}, {.numerics = numerics});
    ASSERT_TRUE(verifier) << verifier.error().text();
    for (bool plain : {true, false})
      if (!plain || numerics == Numerics::strict)
        judge(**verifier, numerics, plain, scratch->path() / std::to_string(number++));
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryExample, testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stitch::agents
