#include "plan/cost/cost_fit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stitch::plan {
namespace {

// A GPU that takes 2.5 times as long for bytes as the model says, 0.5 times for arithmetic, and 3 us on top.
std::vector<CostSample> samples_of_a_machine() {
  std::vector<CostSample> out;
  for (int i = 1; i <= 20; ++i) {
    CostSample one{.task = "task" + std::to_string(i), .region = "r", .way = "matmul.x by_class row_major"};
    one.parts.memory = (i % 2 ? 20e-6 : 2e-6) * i;
    one.parts.compute = (i % 2 ? 2e-6 : 60e-6) * i;
    one.measured = std::max(2.5 * one.parts.memory, 0.5 * one.parts.compute) + 3e-6;
    out.push_back(one);
  }
  return out;
}

TEST(CostFit, FindsWhatTheMachineDoes) {
  const std::vector<CostSample> samples = samples_of_a_machine();
  const CostError before = error_of(samples, nullptr);
  EXPECT_LT(before.within_double, 0.6);
  const Calibration calibration = fit(samples, "H200", "a test");
  const Calibrated& found = calibration.techniques.at("matmul.x by_class row_major");
  EXPECT_NEAR(found.memory, 2.5, 0.35);
  EXPECT_NEAR(found.compute, 0.5, 0.1);
  EXPECT_EQ(found.samples, 20);
  const CostError after = error_of(samples, &calibration);
  EXPECT_LT(after.median, 1.1);
  EXPECT_EQ(after.within_double, 1);
  EXPECT_LT(error_on_unseen_tasks(samples).median, 1.15);
  // Others of the technique, and unmeasured techniques, get what was measured.
  EXPECT_EQ(calibration.find("matmul.x half channels_last"), &calibration.techniques.at("matmul.x"));
  EXPECT_EQ(calibration.find("conv.y exact row_major"), &calibration.techniques.at("all"));
}

TEST(CostFit, LeavesAloneWhatItHardlySaw) {
  std::vector<CostSample> samples = samples_of_a_machine();
  samples.resize(least_samples - 1);
  const Calibration calibration = fit(samples, "H200", "a test");
  EXPECT_TRUE(calibration.techniques.empty());
  EXPECT_EQ(predicted(samples[0], &calibration), samples[0].parts.seconds());
}

TEST(CostFit, ReadsBackWhatItWrote) {
  const std::vector<CostSample> samples = samples_of_a_machine();
  auto sample = read_sample(to_json(samples[3]));
  ASSERT_TRUE(sample) << sample.error().text();
  EXPECT_EQ(to_json(*sample), to_json(samples[3]));
  const Calibration calibration = fit(samples, "H200", "a test");
  auto again = read_calibration(to_json(calibration));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(to_json(*again), to_json(calibration));
}

TEST(CostFit, RefusesWhatIsNoCalibration) {
  const Json good = to_json(fit(samples_of_a_machine(), "H200", "a test"));
  auto refused = [](Json document) {
    auto read = read_calibration(document);
    return read ? "read" : read.error().where + ": " + read.error().message;
  };
  EXPECT_NE(refused(Json::array()).find("version 1"), std::string::npos);
  Json other = good;
  other["techniques"]["matmul.x by_class row_major"]["memory"] = -1;
  EXPECT_NE(refused(other).find("matmul.x by_class row_major.memory"), std::string::npos);
  other = good;
  other.erase("gpu");
  EXPECT_NE(refused(other).find("gpu"), std::string::npos);
  EXPECT_FALSE(read_sample({{"region", "r"}, {"way", "w"}, {"memory", "a lot"}}));
}

}  // namespace
}  // namespace stitch::plan
