// A budget that ends before the steps do: what was cut off is said, and how to get it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "cli/run_cli.h"

namespace stitch {
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
  auto scratch = ScratchFolder::create("stitch-budget");
  ASSERT_TRUE(scratch);
  const std::string task = scratch->path() / "model.py", out = scratch->path() / "program";
  ASSERT_TRUE(write_file(task, model));
  const std::vector<const char*> words = {"stitchcuda", "optimize", task.c_str(), "-o",
                                          out.c_str(),  "--budget", "1",          "--device",
                                          "emulated",   "--quick",  "--json"};
  std::ostringstream said, err;
  EXPECT_EQ(run_cli(static_cast<int>(words.size()), words.data(), said, err), 0) << err.str();
  auto json = parse_json(said.str());
  ASSERT_TRUE(json) << said.str();
  EXPECT_GT((*json)["first_seconds"], 0);
  EXPECT_TRUE(fs::exists(fs::path(out) / "program.cu"));
}

}  // namespace
}  // namespace stitch
