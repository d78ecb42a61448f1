// What needs PyTorch: the example programs through every gate, Python candidates.
// STITCHCUDA_TEST_DEVICE=cuda runs held trials on the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "verify/testdata/judged.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

const fs::path source = STITCH_SOURCE_DIR;
const fs::path testdata = source / "src/verify/testdata";

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (extension.empty() ? entry.is_directory() : entry.path().extension() == extension)
      names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

bool on_gpu() {
  const char* device = std::getenv("STITCHCUDA_TEST_DEVICE");
  return device && std::string_view(device) == "cuda";
}

VerifyOptions held_options() {
  VerifyOptions options;
  if (on_gpu()) options.device = runner::Device::cuda;
  options.hold_above = 0;
  return options;
}

class ExamplePrograms : public testing::TestWithParam<std::string> {};
class PythonCandidates : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(ExamplePrograms, PassEveryGate) {
  fs::path folder = source / "examples/programs" / GetParam();
  auto verdict = verify(folder / "task.py", {.program = folder});
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  for (const char* gate : {"correctness", "conduct", "thread order", "regions", "profile", "coverage"})
    EXPECT_EQ(verdict->gate(gate)->outcome, Outcome::passed) << gate << ": " << verdict->gate(gate)->summary;
}
INSTANTIATE_TEST_SUITE_P(, ExamplePrograms, testing::ValuesIn(names_in(source / "examples/programs", "")),
                         [](const auto& info) { return info.param; });

// Judged at its own sizes alone, it would be right.
TEST(Ranges, WhatIsWrongAtOtherSizesHasNoReceipt) {
  auto folder = ScratchFolder::create("stitchcuda-ranges");
  ASSERT_TRUE(folder);
  const fs::path task = folder->path() / "task.py", program = folder->path() / "model_new.py",
                 receipt = folder->path() / "receipt.json";
  ASSERT_TRUE(write_file(task, R"(import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.mean(0)

def get_inputs():
    return [torch.randn(2, 8)]

def get_init_inputs():
    return []

def get_dynamic_shapes():
    return {"x": {0: torch.export.Dim("batch", min=1, max=2)}}
)"));
  auto judged = [&](std::string_view result) {
    EXPECT_TRUE(write_file(program, format(R"(import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {}
)",
                                           result)));
    return verify(task, {.program = program, .receipt = receipt});
  };
  const auto wrong = judged("x.sum(0) / 2");
  ASSERT_TRUE(wrong) << wrong.error().text();
  ASSERT_TRUE(wrong->failure());
  EXPECT_NE(wrong->failure()->summary.find("with batch="), std::string::npos) << wrong->failure()->summary;
  EXPECT_FALSE(fs::exists(receipt));

  const auto right = judged("x.sum(0) / x.shape[0]");
  ASSERT_TRUE(right) << right.error().text();
  ASSERT_TRUE(right->passed()) << table(*right, {});
  const Json signed_sizes = parse_json(*read_file(receipt))->at("verdict").at("sizes");
  EXPECT_EQ(signed_sizes.at("ranges"),
            (Json{{{"name", "batch"}, {"least", 1}, {"most", 2}, {"multiple", 1}}}));
  EXPECT_EQ(signed_sizes.at("right").front(), (Json{{"batch", 1}}));
}

// On a CPU, class default rounds what every convolution reads.
TEST(Arithmetic, IsSeenConvolutionByConvolution) {
  auto task = open_task_to_judge(source / "examples/inception.py", {});
  ASSERT_TRUE(task) << task.error().text();
  auto reference = OpenReference::open(*std::move(task), {});
  ASSERT_TRUE(reference) << reference.error().text();
  auto seen = (*reference)->tf32_convolutions();
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->size(), 6u);
  for (auto [node, tf32] : *seen) {
    EXPECT_EQ((*reference)->task.graph.node(node).op, Op::conv);
    EXPECT_TRUE(tf32);
  }
  // What that costs, in units of the budget: a quarter of the square, which is half of twice the error; a
  // little more, since outputs of few elements vary from draw to draw.
  auto roundings = (*reference)->roundings();
  ASSERT_TRUE(roundings) << roundings.error().text();
  double sum = 0;
  for (const auto& [name, product] : roundings->at("products").items())
    if (name.starts_with("conv"))
      for (const Json& operand : product.at("operands")) sum += operand[0][0].get<double>();
  const double pytorch = roundings->at("groups")[0].at("pytorch").get<double>();
  EXPECT_GT(pytorch, 0.25);
  EXPECT_LT(pytorch, 0.5);
  EXPECT_GT(sum, pytorch / 4);
  EXPECT_LT(sum, pytorch * 8);
  // Other kinds of inputs and weights stand beside it, each a condition of its own.
  EXPECT_EQ(std::ssize(roundings->at("groups")), roundings->at("kinds").get<int>());
  for (const auto& [name, value] : roundings->at("values").items())
    EXPECT_EQ(value.at("shares").size(), roundings->at("groups").size()) << name;
}

namespace {

// Two layers in fp16, with `weight` done to them, of what `x` makes of the input.
std::string chain_of(std::string_view weight, std::string_view x) {
  return format(R"(import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(16, 16), torch.nn.Linear(16, 12)
        with torch.no_grad():
            {}
        self.half().eval()

    def forward(self, x):
        return self.last(torch.relu(self.first({})))

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(4, 16).half()]
)",
                weight, x);
}

// `own`: a Model, too.
Result<Verdict> verdict_of(const std::string& task, std::string own, bool quick = false) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-overflow"));
  STITCH_CHECK(write_file(scratch.path() / "task.py", task));
  own.replace(own.find("Model("), 5, "ModelNew");
  STITCH_CHECK(write_file(scratch.path() / "model_new.py", own));
  return verify(
      scratch.path() / "task.py",
      {.program = scratch.path() / "model_new.py", .quick = quick, .timing = false, .profile = false});
}

// Judged with a ModelNew that is the same.
Result<Verdict> verdict_of_chain(std::string_view weight, std::string_view x = "x") {
  return verdict_of(chain_of(weight, x), chain_of("pass", x));
}

}  // namespace

// Other weights are held back to what fp16 has room for: a trial is left, and it counts.
TEST(Overflow, LeavesATrialWithOtherWeights) {
  for (bool held : {false, true}) {
    VerifyOptions options{.program = testdata / "model_new_cheats/half_network_in_single.py",
                          .timing = false};
    if (held) options.hold_above = 0;
    auto verdict = verify(testdata / "tasks/half_residual/task.py", options);
    ASSERT_TRUE(verdict) << verdict.error().text();
    EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
    EXPECT_EQ(join(verdict->notes, "\n").find("unproven"), std::string::npos) << join(verdict->notes, "\n");
  }
}

TEST(Overflow, OfTheTasksOwnWeightsIsCalledUnproven) {
  // Rows of zeros, which some kinds of inputs have, overflow as well.
  auto verdict = verdict_of_chain("self.first.weight.mul_(2.5e5)", "x + 8");
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << "other weights prove it: " << table(*verdict, {});
  EXPECT_NE(join(verdict->notes, "\n").find("unproven with the task's own weights: 'linear_1'"),
            std::string::npos)
      << join(verdict->notes, "\n");
}

TEST(Overflow, WithAnyWeightsProvesNothing) {
  auto verdict = verdict_of_chain("pass", "x * 6e4 * 6e4 / 3.6e9");
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_FALSE(verdict->passed()) << table(*verdict, {});
  EXPECT_TRUE(verdict->inconclusive()) << table(*verdict, {});
  EXPECT_NE(join(verdict->notes, "\n").find("unproven with reparameterised weights"), std::string::npos)
      << join(verdict->notes, "\n");
}

TEST(Weights, WithNaNAreNamed) {
  auto verdict = verdict_of_chain("self.last.bias[3] = float('nan')");
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  EXPECT_NE(join(verdict->notes, "\n")
                .find("NaN among the task's weights, in 'last.bias': what it reaches of "
                      "'linear_1' proves nothing"),
            std::string::npos)
      << join(verdict->notes, "\n");
}

namespace {

const std::string without_weights = R"(import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2)

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(8, 16)]
)";

}  // namespace

TEST(QuickLook, FindsTheResultOfAnEarlierCall) {
  std::string keeps = without_weights;
  keeps.replace(keeps.find("        return torch"),
                std::string_view("        return torch.relu(x * 2)").size(),
                "        self.first = getattr(self, 'first', torch.relu(x * 2))\n        return self.first");
  auto verdict = verdict_of(without_weights, keeps, true);
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_FALSE(verdict->passed()) << table(*verdict, {});
  auto honest = verdict_of(without_weights, without_weights, true);
  ASSERT_TRUE(honest) << honest.error().text();
  EXPECT_TRUE(honest->passed()) << table(*honest, {});
}

TEST(Weights, AreNotMissedWhereATaskHasNone) {
  auto verdict = verdict_of(without_weights, without_weights);
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  EXPECT_EQ(join(verdict->notes, "\n").find("its parameters are not the task's"), std::string::npos)
      << join(verdict->notes, "\n");
}

TEST_P(PythonCandidates, GetTheirVerdict) {
  fs::path file = testdata / "model_new" / (GetParam() + ".py");
  auto verdict =
      verify(testdata / "row_center/task.py", {.program = file, .quick = false, .rehearse_timing = true});
  ASSERT_TRUE(verdict) << verdict.error().text();
  std::string text = *read_file(file);
  EXPECT_EQ(in_words(*verdict), text.substr(3, text.find("\"\"\"", 3) - 3)) << table(*verdict, {});
  EXPECT_EQ(verdict->header->at("trust"), "python");
}
INSTANTIATE_TEST_SUITE_P(, PythonCandidates, testing::ValuesIn(names_in(testdata / "model_new", ".py")),
                         [](const auto& info) { return info.param; });

// The same verdicts where every trial stays with PyTorch, outputs are judged from an arena (the device's, the
// host's for Python), and as little is asked as of gigabytes.
TEST(HeldTrials, HavePatchesWhereMaximaMatter) {
  VerifyOptions options = held_options();
  options.few_above = 0;
  options.timing = options.rehearse_timing = false;
  for (const char* name : {"softmax_honest", "softmax_without_the_maximum"}) {
    options.program = testdata / "candidates" / (std::string(name) + ".cu");
    auto verdict = verify(testdata / "tasks/softmax/task.py", options);
    ASSERT_TRUE(verdict) << verdict.error().text();
    EXPECT_EQ(verdict->passed(), std::string_view(name) == "softmax_honest") << table(*verdict, {});
  }
}

// KernelBench's own check is asked of PyTorch, beside the outputs that it kept.
TEST(HeldTrials, AreJudgedAsKernelBenchDoes) {
  VerifyOptions options = held_options();
  options.timing = options.rehearse_timing = false;
  options.kernelbench_compatible = true;
  for (auto [name, passes] : {std::pair{"honest", true}, {"wrong_in_one_element", false}}) {
    options.program = testdata / "candidates" / (std::string(name) + ".cu");
    auto verdict = verify(testdata / "row_center/task.py", options);
    ASSERT_TRUE(verdict) << verdict.error().text();
    EXPECT_EQ(verdict->passed(), passes) << table(*verdict, {});
    int asked = 0;
    for (const Json& trial : verdict->gate("correctness")->evidence->at("trials"))
      for (const Json& output : trial.value("outputs", Json::array()))
        if (output.contains("kernelbench")) {
          ++asked;
          EXPECT_EQ(output.at("kernelbench").at("passed"), passes) << output.dump();
        }
    EXPECT_EQ(asked, passes ? kernelbench_trials : 1);
  }
}

TEST(HeldTrials, ChangeNoVerdict) {
  VerifyOptions options = held_options();
  options.few_above = 0;
  options.timing = false;
  options.rehearse_timing = !on_gpu();
  auto task = open_task_to_judge(testdata / "row_center/task.py", {});
  ASSERT_TRUE(task) << task.error().text();
  auto verifier = Verifier::open(*std::move(task), options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (const char* file :
       {"candidates/honest.cu", "candidates/wrong_in_one_element.cu", "candidates/returns_nan.cu",
        "candidates/returns_the_previous_output.cu", "candidates/corrupts_inputs.cu",
        "candidates/never_writes_the_last_row.cu", "candidates/computes_only_once.cu",
        "candidates/ignores_its_weights.cu", "candidates/accepts_other_shapes.cu", "model_new/honest.py",
        "model_new/writes_its_input.py"}) {
    options.program = testdata / file;
    auto verdict = (*verifier)->judge(options);
    ASSERT_TRUE(verdict) << file << ": " << verdict.error().text();
    std::string text = *read_file(options.program);
    EXPECT_NE(text.substr(0, text.find('\n')).find(in_words(*verdict)), std::string::npos)
        << file << "\n"
        << table(*verdict, {});
    EXPECT_EQ(join(verdict->notes, "\n").find("host's memory"), std::string::npos)
        << join(verdict->notes, "\n");
  }
}

// Outputs of timed calls are read by PyTorch, in memory that the candidate shares with it.
TEST(Series, AreWatchedAndJudgedByPyTorch) {
  if (on_gpu()) GTEST_SKIP() << "timed for real there";
  VerifyOptions options{.rehearse_timing = true};
  auto task = open_task_to_judge(testdata / "row_center/task.py", {});
  ASSERT_TRUE(task) << task.error().text();
  auto verifier = Verifier::open(*std::move(task), options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (auto [file, expected] :
       {std::pair{"honest.cu", "passed"}, {"remembers_by_a_few_elements.cu", "timing: wrong_when_timed"}}) {
    options.program = testdata / "candidates" / file;
    auto verdict = (*verifier)->judge(options);
    ASSERT_TRUE(verdict) << file << ": " << verdict.error().text();
    EXPECT_EQ(in_words(*verdict), expected) << table(*verdict, {});
    EXPECT_EQ(join(verdict->notes, "\n").find("host's memory"), std::string::npos)
        << join(verdict->notes, "\n");
    EXPECT_EQ(verdict->timing, nullptr) << "times of a rehearsal are not told";
  }
}

// A hundred megabytes in, a hundred out, and timed: nothing but secret pages of it crosses the host.
TEST(HeldTrials, OfAHundredMegabytesCrossTheDevice) {
  if (!on_gpu()) GTEST_SKIP() << "needs a GPU: STITCHCUDA_TEST_DEVICE=cuda";
  auto scratch = ScratchFolder::create("stitchcuda-large");
  ASSERT_TRUE(scratch);
  for (const char* file : {"row_center/task.py", "candidates/row_center.h", "candidates/honest.cu",
                           "candidates/wrong_in_one_element.cu", "candidates/corrupts_inputs.cu"}) {
    std::string text = *read_file(testdata / file);
    for (size_t at; (at = text.find("37")) != std::string::npos;) text.replace(at, 2, "400000");
    ASSERT_TRUE(write_file(scratch->path() / fs::path(file).filename(), text));
  }
  VerifyOptions options{.device = runner::Device::cuda};
  auto task = open_task_to_judge(scratch->path() / "task.py", {});
  ASSERT_TRUE(task) << task.error().text();
  auto verifier = Verifier::open(*std::move(task), options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (auto [file, expected] : {std::pair{"honest.cu", "passed"},
                                {"wrong_in_one_element.cu", "correctness: wrong"},
                                {"corrupts_inputs.cu", "conduct: inputs_changed"}}) {
    options.program = scratch->path() / file;
    auto verdict = judged_in_peace([&] { return (*verifier)->judge(options); });
    if (was_too_busy(verdict)) {
      GTEST_LOG_(WARNING) << file << " was not judged: " << verdict.error().message;
      continue;
    }
    ASSERT_TRUE(verdict) << file << ": " << verdict.error().text();
    EXPECT_EQ(in_words(*verdict), expected) << table(*verdict, {});
    EXPECT_EQ(join(verdict->notes, "\n").find("host's memory"), std::string::npos)
        << join(verdict->notes, "\n");
  }
}

// A program with states and several outputs, with nothing but types on this side.
TEST(HeldTrials, PassEveryGate) {
  fs::path folder = source / "examples/programs" / names_in(source / "examples/programs", "").front();
  VerifyOptions options = held_options();
  options.program = folder;
  auto verdict = verify(folder / "task.py", options);
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << table(*verdict, {});
  for (const char* gate : {"correctness", "sensitivity", "conduct", "regions", "profile"})
    EXPECT_EQ(verdict->gate(gate)->outcome, Outcome::passed) << gate << ": " << verdict->gate(gate)->summary;
}

}  // namespace stitch::verifier
