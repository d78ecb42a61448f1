#include "agents/loop/time_spent.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace stitch::agents {

using Kind = TimeAccount::Kind;

TEST(TimeSpent, CountsWhatCameSince) {
  TimeAccount::add(Kind::phase, "a test's import", 5);
  const TimeAccount::Entries before = TimeAccount::all();
  TimeAccount::add(Kind::phase, "a test's import", 2);
  TimeAccount::add(Kind::detail, "a test's unit", 3);
  TimeAccount::add(Kind::detail, "a test's unit", 4);
  const TimeAccount::Entries since = TimeAccount::since(before);
  EXPECT_DOUBLE_EQ(since.at({Kind::phase, "a test's import"}).seconds, 2);
  EXPECT_DOUBLE_EQ(since.at({Kind::detail, "a test's unit"}).seconds, 7);
  EXPECT_EQ(since.at({Kind::detail, "a test's unit"}).times, 2);
  EXPECT_EQ(since.size(), 2u);
}

TEST(TimeSpent, WaitingIsTheThreadsOwn) {
  const double before = TimeAccount::waited_here();
  std::thread([] { TimeAccount::add(Kind::waiting, "a test's turn", 9); }).join();
  EXPECT_DOUBLE_EQ(TimeAccount::waited_here(), before);
  TimeAccount::add(Kind::waiting, "a test's turn", 1);
  EXPECT_DOUBLE_EQ(TimeAccount::waited_here(), before + 1);
}

TEST(TimeSpent, APhaseInsideAnotherIsCountedOnce) {
  const TimeAccount::Entries before = TimeAccount::all();
  {
    const SpentOn outer("a test's outer phase", Kind::phase);
    const SpentOn inner("a test's inner phase", Kind::phase);
    TimeAccount::add(Kind::phase, "a test's gate", 100);
  }
  const TimeAccount::Entries since = TimeAccount::since(before);
  double sum = 0;
  for (const auto& [key, entry] : since) sum += entry.seconds;
  EXPECT_DOUBLE_EQ(since.at({Kind::phase, "a test's gate"}).seconds, 100);
  EXPECT_LT(since.at({Kind::phase, "a test's inner phase"}).seconds, 0);  // 100 s of it were the gate's
  EXPECT_NEAR(since.at({Kind::phase, "a test's outer phase"}).seconds, 0, 1);
  EXPECT_NEAR(sum, 0, 1);  // the clock's, whatever was claimed inside
}

TEST(TimeSpent, PhasesAddUpToTheWhole) {
  const Json spent = time_spent({{{Kind::phase, "import"}, {5, 1}},
                                 {{Kind::phase, "plan"}, {0.001, 1}},
                                 {{Kind::waiting, "to have the GPU alone"}, {2, 3}},
                                 {{Kind::detail, "compile a unit"}, {8, 4}}},
                                10);
  double sum = 0;
  for (const auto& [name, seconds] : spent.at("phases").items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, 10, 0.01);
  EXPECT_FALSE(spent.at("phases").contains("plan"));  // too short to tell
  EXPECT_EQ(spent.at("details").at("compile a unit").at("times"), 4);
  EXPECT_EQ(time_text(spent), "import 5 s, other 5 s; 2 s waiting for others on the GPU");
  EXPECT_EQ(time_text(Json::object()), "");
}

}  // namespace stitch::agents
