#include "cli/commands/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stitch {
namespace {

using enum Check::State;

std::vector<Check> example() {
  return {{"CUDA", "GPU", missing, "no driver", "times are estimates", "get a GPU"},
          {"CUDA", "nvcc", there, "13.0  /usr/local/cuda/bin/nvcc", "", ""},
          {"Python", "torch", there, "2.10.0", "", ""}};
}

TEST(Doctor, EachMissingThingSaysWhatItCostsAndTheFix) {
  EXPECT_EQ(doctor_text(example(), {.width = 80}),
            "CUDA\n"
            "  –  GPU    no driver: times are estimates\n"
            "            fix: get a GPU\n"
            "  ✓  nvcc   13.0  /usr/local/cuda/bin/nvcc\n"
            "\n"
            "Python\n"
            "  ✓  torch  2.10.0\n"
            "\n"
            "Ready, without a GPU: programs run on the emulated device, times are estimates.\n");
}

TEST(Doctor, PlainLocalesGetPlainSymbols) {
  std::vector<Check> checks = example();
  checks[2] = {"Python", "torch", needed, "", "no import", "pip install torch"};
  std::string text = doctor_text(checks, {.utf8 = false});
  EXPECT_NE(text.find("  x  torch  no import\n"), std::string::npos) << text;
  for (char c : text) EXPECT_GT(c, 0) << text;
  EXPECT_EQ(doctor_exit_code(checks), 1);
  EXPECT_EQ(doctor_exit_code(example()), 0);
}

TEST(Doctor, Json) {
  Json document = doctor_json(example());
  EXPECT_EQ(document["ready"], true);
  EXPECT_EQ(document["device"], "emulated");
  EXPECT_EQ(document["checks"][0]["state"], "missing");
  EXPECT_EQ(document["checks"][0]["fix"], "get a GPU");
}

TEST(Doctor, ThisMachine) {
  std::vector<Check> checks = examine_machine();
  EXPECT_GT(checks.size(), 12u);
  for (const Check& check : checks) {
    SCOPED_TRACE(check.name);
    EXPECT_FALSE(check.name.empty());
    if (check.state == there) {
      EXPECT_FALSE(check.found.empty());
    } else {
      EXPECT_FALSE(check.cost.empty());
      EXPECT_FALSE(check.fix.empty());
    }
  }
}

}  // namespace
}  // namespace stitch
