#include "reference/timing.h"

#include <gtest/gtest.h>

namespace stitch::verifier {

TEST(Timing, APlainBaselineStandsInForAGraph) {
  EXPECT_EQ(without_graph("compile-graph"), "compile");
  EXPECT_EQ(without_graph("eager-graph"), "eager");
  EXPECT_EQ(without_graph("eager"), "");
}

TEST(Timing, SpreadIsNotTheMachinesDrift) {
  Samples samples;
  for (int64_t i = 0; i < 500; ++i) samples.wall_ns.push_back(10'000 + 4 * i);
  EXPECT_NEAR(samples.median(), 11e-6, 1e-7);
  EXPECT_LT(samples.spread(), 0.02);
  EXPECT_GT(samples.drift(), 0.06);
}

TEST(Timing, SpreadSeesMediansThatDiffer) {
  Samples samples;
  for (int64_t i = 0; i < 500; ++i) samples.wall_ns.push_back(i / 20 % 5 == 0 ? 12'000 : 10'000);
  EXPECT_NEAR(samples.spread(), 0.1, 1e-9);
}

TEST(Timing, FewCallsHaveASpreadToo) {
  Samples none, few;
  few.wall_ns = {10, 20, 30};
  EXPECT_EQ(none.spread(), 0);
  EXPECT_GT(few.spread(), 0);
}

}  // namespace stitch::verifier
