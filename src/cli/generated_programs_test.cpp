// Models become programs that pass every gate on the emulated GPU. All examples: ./dev programs.
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "base/file.h"
#include "cli/run_cli.h"

namespace stitch {

namespace {

struct Said {
  int code;
  std::string text;
};

Said say(const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"stitchcuda"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::ostringstream out, err;
  int code = run_cli(static_cast<int>(arguments.size()), arguments.data(), out, err);
  return {code, out.str() + err.str()};
}

class GeneratedPrograms : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(GeneratedPrograms, PassEveryGate) {
  auto scratch = ScratchFolder::create("stitchcuda-generated");
  ASSERT_TRUE(scratch);
  std::string model = std::string(STITCH_SOURCE_DIR) + "/examples/" + GetParam() + ".py";
  std::string program = (scratch->path() / "program").string();
  Said coded = say({"code", model, "-o", program});
  ASSERT_EQ(coded.code, 0) << coded.text;
  Said verified = say({"verify", program, "--task", model, "--device", "emulated"});
  EXPECT_EQ(verified.code, 0) << verified.text;
}

INSTANTIATE_TEST_SUITE_P(, GeneratedPrograms, testing::Values("dropout_mlp", "lstm", "mamba2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace stitch
