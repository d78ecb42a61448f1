#include "base/machine/process.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

#include "base/machine/interrupt.h"

namespace stitch {
namespace {

TEST(Process, LinesGoInAndOut) {
  auto child = Child::start({{"cat"}, {}, {}});
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->send("hello"));
  EXPECT_EQ(*child->read_line(), "hello");
  EXPECT_EQ(child->wait().exit_code, 0);
}

// Such a handler may wait for what another thread does (OpenBLAS's does).
TEST(Process, StartsWithoutTheForkHandlersOfLibraries) {
  static std::atomic<bool> asked = false;
  ::pthread_atfork([] { asked = true; }, nullptr, nullptr);
  EXPECT_TRUE(run({{"true"}, {}, {}}));
  EXPECT_FALSE(asked);
}

TEST(Process, ErrorsAndExitCodesAreKept) {
  auto finished = run({{"sh", "-c", "echo out; echo bad >&2; exit 7"}, {}, {}});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 7);
  EXPECT_EQ(finished->error_tail, "bad\n");
}

TEST(Process, ATimeLimitEndsTheWholeGroup) {
  auto begin = std::chrono::steady_clock::now();
  auto finished = run({{"sh", "-c", "sleep 600 & sleep 600"}, {}, std::chrono::milliseconds(100)});
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST(Process, IsEndedSoonAfterSomebodyAsksForIt) {
  std::atomic<bool> enough = false;
  EndChildrenWhen given_up([&] { return enough.load(); });
  std::thread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    enough = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  auto finished = run({.words = {"sh", "-c", "sleep 600"}, .extra_environment = {}});
  asker.join();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, "stopped");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST(Process, AChildThatIsGoneIsAnError) {
  auto child = Child::start({{"true"}, {}, {}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->read_line());
  bool failed = false;
  for (int i = 0; i < 1000 && !failed; ++i) failed = !child->send(std::string(1000, 'x'));
  EXPECT_TRUE(failed);
}

TEST(Process, AMissingProgramIsTheUsersMistake) {
  auto child = Child::start({{"no-such-program-here"}, {}, {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().text(), "program 'no-such-program-here' not found on the PATH");
}

TEST(Process, MuchOnStderrDoesNotBlock) {
  auto finished = run({{"sh", "-c", "head -c 3000000 /dev/zero >&2; echo done"}, {}, {}});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 0);
  EXPECT_EQ(finished->error_tail.size(), 64u * 1024);
}

}  // namespace
}  // namespace stitch
