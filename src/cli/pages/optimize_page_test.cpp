// What the page says of a run's tuning.
#include "cli/pages/optimize_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/loop/ledger.h"
#include "base/json.h"

namespace stitch {
namespace {

Json run_with(Json tuning) {
  agents::Ledger ledger{.measured = true};
  ledger.entries.push_back({.step = "tune",
                            .why = "settings, tried on the GPU",
                            .before = 2e-3,
                            .after = 1e-3,
                            .outcome = agents::Outcome::better,
                            .settings = {{"fc1_matmul.algorithm", 3}, {"relu.threads", 128}}});
  return {{"ledger", to_json(ledger)},
          {"verdict", {{"verdict", "passed"}, {"class", "default"}, {"task", "model.py"}}},
          {"tuning", std::move(tuning)}};
}

TEST(OptimizePage, ShowsWhichSettingsAStepChanged) {
  std::string page = optimize_page(run_with(
      {{"tried", 9},
       {"kept", 2},
       {"known", 1},
       {"dropped",
        {{{"name", "fc1_matmul.algorithm"}, {"value", 7}, {"reason", "cuBLASLt: algorithm 7 of 4 <b>"}}}}}));
  for (const char* expected :
       {"settings, tried on the GPU: fc1_matmul.algorithm = 3, relu.threads = 128", "2.00x",
        "9 values tried in the whole program, 2 kept, 1 decision known from earlier runs.",
        "cuBLASLt: algorithm 7 of 4 &lt;b&gt;"})
    EXPECT_NE(page.find(expected), std::string::npos) << expected;
}

TEST(OptimizePage, AStepThatCostTimeSavedLessThanNothing) {
  Json run = run_with({});
  run["ledger"]["steps"][0].update({{"before_seconds", 2.2e-4}, {"after_seconds", 2.5e-4}, {"kept", false}});
  std::string page = optimize_page(run);
  EXPECT_NE(page.find(">0.88x<"), std::string::npos);
  EXPECT_NE(page.find(">−30 us<"), std::string::npos) << page.substr(page.find("<h2>Ledger"));
}

TEST(OptimizePage, SaysNothingTwiceAndNothingThatNobodyCanTell) {
  Json run = run_with({});
  run["ledger"]["times"] = "estimated";
  run["ledger"]["steps"][0].update({{"before_seconds", 6.14e-5},
                                    {"after_seconds", 6.14e-5 - 4.39e-11},
                                    {"predicted_gain_seconds", 4.39e-11}});
  const std::string page = optimize_page(run);
  EXPECT_EQ(page.find("e-05 us"), std::string::npos);
  EXPECT_EQ(page.find(">predicted<"), std::string::npos) << "an estimated gain is its own prediction";
  EXPECT_EQ(page.find(">time saved<"), std::string::npos) << "a column without content";
  run["regions"] = {{{"name", "a"}, {"technique", "loop"}, {"estimated_seconds", 2e-6}},
                    {{"name", "b"}, {"technique", "loop"}, {"estimated_seconds", 3e-6}}};
  run["predicted_seconds"] = 9e-6;
  const std::string sums = optimize_page(run);
  for (const char* expected : {"launch of the call", ">4 us<", "the whole call", ">9 us<"})
    EXPECT_NE(sums.find(expected), std::string::npos) << expected;
}

// A sheet of another page in this one gave its columns widths of 40 to 84 pixels: cells were printed over
// each other.
TEST(OptimizePage, HasNoRulesOfOtherPages) {
  std::string page = optimize_page(run_with({}));
  for (const char* other : {"table-layout: fixed", "th:nth-child", "#ops", "#surface"})
    EXPECT_EQ(page.find(other), std::string::npos) << other;
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(OptimizePage, SaysWhyNothingWasTuned) {
  std::string page = optimize_page(run_with({{"skipped", "times on the emulated GPU mean nothing"}}));
  EXPECT_NE(page.find("None: times on the emulated GPU mean nothing."), std::string::npos);
}

}  // namespace
}  // namespace stitch
