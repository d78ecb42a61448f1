// A value that misbehaves is dropped; the others are still tried.
#include "verify/clock/settings_clock.h"

#include <gtest/gtest.h>

#include "verify/verify.h"

namespace stitch::verifier {
namespace {

TEST(SettingsClock, OutlivesWhatItTimes) {
  const fs::path testdata = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";
  VerifyOptions options{.program = testdata / "candidates/moody.cu"};
  options.time_limit = std::chrono::seconds(2);
  auto task = open_task_to_judge(testdata / "row_center/graph", {});
  ASSERT_TRUE(task) << task.error().text();
  auto verifier = Verifier::open(*std::move(task), options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  auto clock = (*verifier)->settings_clock(options);
  ASSERT_TRUE(clock) << clock.error().text();

  auto fate = [&](int64_t mood) -> std::string {
    if (auto ready = (*clock)->challenge({{"mood", mood}}); !ready) return ready.error().code;
    auto round = (*clock)->round();
    return round ? "timed" : round.error().code + " when timed";
  };
  EXPECT_EQ(fate(0), "timed");
  EXPECT_EQ(fate(1), "refused");
  EXPECT_EQ(fate(2), "wrong");
  EXPECT_EQ(fate(3), "crashed");
  EXPECT_EQ(fate(0), "timed");
  EXPECT_EQ(fate(4), "hung");
  EXPECT_EQ(fate(5), "hung when timed");
  EXPECT_EQ(fate(7), "refused");
  EXPECT_EQ(fate(0), "timed");
}

}  // namespace
}  // namespace stitch::verifier
