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

TEST(Budget, SaysWhichStepsItCutOff) {
  auto scratch = ScratchFolder::create("stitch-budget");
  ASSERT_TRUE(scratch);
  const std::string task = scratch->path() / "model.py", out = scratch->path() / "program";
  ASSERT_TRUE(write_file(task, model));
  auto run = [&](std::vector<const char*> more) {
    // Importing and the plain program alone take longer than a second.
    std::vector<const char*> words = {"stitchcuda", "optimize", task.c_str(), "-o",       out.c_str(),
                                      "--budget",   "1",        "--device",   "emulated", "--quick"};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream said, err;
    EXPECT_EQ(run_cli(static_cast<int>(words.size()), words.data(), said, err), 0) << err.str();
    return said.str();
  };
  const std::string text = run({});
  EXPECT_NE(text.find("The budget of 1 s was spent before these steps were tried: libraries, "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("To try them: --budget "), std::string::npos) << text;
  auto page = read_file(fs::path(out) / "report.html");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find("the budget of 1 s was spent"), std::string::npos);
  EXPECT_NE(page->find("not tried"), std::string::npos);

  auto json = parse_json(run({"--json"}));
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["cut_off"]["not_tried"][0], "libraries");
  EXPECT_GE((*json)["cut_off"]["try_budget"], 10);
  EXPECT_EQ((*json)["ledger"]["steps"][1]["fate"], "not tried");
}

}  // namespace
}  // namespace stitch
