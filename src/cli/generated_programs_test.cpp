// Models become programs that pass every gate on the emulated GPU. All examples: ./dev programs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "cli/testdata/ran.h"
#include "import/python.h"

namespace stitch {

namespace {

class GeneratedPrograms : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(GeneratedPrograms, PassEveryGate) {
  auto scratch = must(ScratchFolder::create("stitchcuda-generated"));
  std::string model = std::string(STITCH_SOURCE_DIR) + "/examples/" + GetParam() + ".py";
  std::string program = (scratch.path() / "program").string();
  Ran coded = stitchcuda({"code", model, "-o", program});
  ASSERT_EQ(coded.code, 0) << coded.text();
  Ran verified = stitchcuda({"verify", program, "--task", model, "--device", "emulated"});
  EXPECT_EQ(verified.code, 0) << verified.text();
}

INSTANTIATE_TEST_SUITE_P(, GeneratedPrograms, testing::Values("dropout_mlp", "lstm", "mamba2"),
                         [](const auto& info) { return std::string(info.param); });

// A budget that ends before the steps do: what was cut off is said, and how to get it.

namespace {

constexpr const char* model = R"(import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 32)
    def forward(self, x):
        return torch.softmax(torch.relu(self.linear(x)) * 2, dim=1)
def get_inputs(): return [torch.randn(8, 16)]
def get_init_inputs(): return []
)";

// However small the budget is.
TEST(Budget, IsExtendedToTheFirstProgram) {
  auto scratch = must(ScratchFolder::create("stitch-budget"));
  const std::string task = scratch.path() / "model.py", out = scratch.path() / "program";
  ASSERT_TRUE(write_file(task, model));
  const Ran ran =
      stitchcuda({"optimize", task, "-o", out, "--budget", "1", "--device", "emulated", "--quick", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(ran.json()["first_seconds"], 0);
  EXPECT_TRUE(fs::exists(fs::path(out) / "program.cu"));
}

}  // namespace

// Well-known parameter and FLOP counts, as `show` counts them. Needs PyTorch.

namespace {

// An example at the size that it was published with.
struct Known {
  const char *name, *model, *arguments;
  double parameters, matrix_gflops;  // multiplications and additions of matrix products
};

void PrintTo(const Known& one, std::ostream* out) { *out << one.name; }

class KnownFigures : public testing::TestWithParam<Known> {};

TEST_P(KnownFigures, AreWhatShowCounts) {
  auto python = find_python();
  auto torch =
      python ? run({{python->string(), "-c", "import torch"}, {}, {}}) : Result<Finished>(python.error());
  if (!torch || torch->exit_code != 0) GTEST_SKIP() << "needs PyTorch";
  auto scratch = must(ScratchFolder::create("stitch-known"));
  const std::string path = scratch.path() / "task.py";
  ASSERT_TRUE(
      write_file(path, format("import sys, torch\nsys.path.insert(0, '{}/examples')\nfrom {} import Model\n"
                              "def get_init_inputs(): return {}\n"
                              "def get_inputs(): return [torch.rand(10, 3, 224, 224)]\n",
                              STITCH_SOURCE_DIR, GetParam().model, GetParam().arguments)));
  const Ran ran = stitchcuda({"show", path, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json json = ran.json();
  const Json& totals = json["totals"];
  EXPECT_EQ(totals["parameters"].get<double>(), GetParam().parameters);
  EXPECT_NEAR(totals["matrix_flops"].get<double>() / 1e9, GetParam().matrix_gflops,
              0.01 * GetParam().matrix_gflops);
}

// An image at 224 x 224 takes 1.81 G multiply-adds in ResNet-18, 15.5 G in VGG-16 and 4.5 G in Swin-v2-T.
INSTANTIATE_TEST_SUITE_P(
    All, KnownFigures,
    testing::Values(Known{"resnet18", "resnet18", "[1000]", 11689512, 36.28},
                    Known{"vgg16", "vgg",
                          "[[64, 64, 'pool', 128, 128, 'pool', 256, 256, 256, 'pool', 512, 512, 512, 'pool', "
                          "512, 512, 512, 'pool'], 512 * 7 * 7, 4096, 1000]",
                          138357544, 309.4},
                    Known{"swin_v2_tiny", "swin_v2", "[224, 4, 96, [2, 2, 6, 2], [3, 6, 12, 24], 7, 1000]",
                          28347154, 90.0}),
    [](const auto& info) { return info.param.name; });

}  // namespace

}  // namespace stitch
