#include "cli/flags/brains.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"

namespace stitch {
namespace {

TEST(BrainFlags, GoToAProcessForEachTaskWithItsShare) {
  BrainFlags brains;
  EXPECT_EQ(join(words_of(brains, 4), " "), "");
  brains.coder = "llm:qwen";
  brains.coder_style = "agent";
  brains.llm_samples = 4;
  brains.max_tokens = 1000;
  brains.max_dollars = 10;
  brains.config = "profiles.toml";
  EXPECT_EQ(
      join(words_of(brains, 4), " "),
      "--coder llm:qwen --coder-style agent --llm-samples 4 --max-tokens 250 --max-dollars 2.5 --config " +
          (fs::current_path() / "profiles.toml").string());
  brains.max_tokens = 3;
  EXPECT_NE(join(words_of(brains, 4), " ").find("--max-tokens 1 "), std::string::npos) << "0 is no limit";
}

TEST(BrainFlags, OfAModelThatIsNotThereAreRefusedBeforeAnyTask) {
  BrainFlags brains;
  EXPECT_TRUE(check_brains(brains));
  brains.coder = "llm:nobody";
  auto missing = check_brains(brains);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("nobody"), std::string::npos) << missing.error().text();
}

}  // namespace
}  // namespace stitch
