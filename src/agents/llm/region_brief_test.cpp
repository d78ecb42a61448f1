// Regions in PyTorch's words: every function that is named exists.
#include "agents/llm/region_brief.h"

#include <gtest/gtest.h>

#include "base/machine/process.h"
#include "import/python.h"

namespace stitch::agents {
namespace {

TEST(RegionBrief, NamesFunctionsThatPyTorchHas) {
  EXPECT_EQ(pytorch_name(Op::silu, 0), "F.silu");
  EXPECT_EQ(pytorch_name(Op::conv, 2), "F.conv2d");
  std::string script = "import torch, torch.nn.functional as F\n";
  for (int op = 0; op < op_count; ++op) {
    const std::string name = pytorch_name(static_cast<Op>(op), 2);
    if (name.find('.') != std::string::npos) script += name + "\n";  // an AttributeError if there is none
  }
  auto python = find_python();
  ASSERT_TRUE(python) << python.error().text();
  auto finished = stitch::run({.words = {python->string(), "-c", script}, .extra_environment = {}});
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_EQ(finished->exit_code, 0) << finished->error_tail;
}

}  // namespace
}  // namespace stitch::agents
