// Well-known parameter and FLOP counts, as `show` counts them. Needs PyTorch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "base/machine/process.h"
#include "cli/run_cli.h"
#include "import/python.h"

namespace stitch {
namespace {

struct Known {
  const char* model;
  double parameters, matrix_gflops;  // multiplications and additions of matrix products, a batch of 10
};

void PrintTo(const Known& one, std::ostream* out) { *out << one.model; }

class KnownFigures : public testing::TestWithParam<Known> {};

TEST_P(KnownFigures, AreWhatShowCounts) {
  auto python = find_python();
  auto torch =
      python ? run({{python->string(), "-c", "import torch"}, {}, {}}) : Result<Finished>(python.error());
  if (!torch || torch->exit_code != 0) GTEST_SKIP() << "needs PyTorch";
  std::string path = format(STITCH_SOURCE_DIR "/examples/full_size/{}.py", GetParam().model);
  const char* words[] = {"stitchcuda", "show", path.c_str(), "--json"};
  std::ostringstream out, err;
  ASSERT_EQ(run_cli(4, words, out, err), 0) << err.str();
  auto json = parse_json(out.str());
  ASSERT_TRUE(json);
  const Json& totals = (*json)["totals"];
  EXPECT_EQ(totals["parameters"].get<double>(), GetParam().parameters);
  EXPECT_NEAR(totals["matrix_flops"].get<double>() / 1e9, GetParam().matrix_gflops,
              0.01 * GetParam().matrix_gflops);
}

// An image at 224 x 224 takes 1.81 G multiply-adds in ResNet-18, 15.5 G in VGG-16 and 4.5 G in Swin-v2-T.
INSTANTIATE_TEST_SUITE_P(All, KnownFigures,
                         testing::Values(Known{"resnet18", 11689512, 36.28}, Known{"vgg16", 138357544, 309.4},
                                         Known{"swin_v2_tiny", 28347154, 90.0}),
                         [](const auto& info) { return info.param.model; });

}  // namespace
}  // namespace stitch
