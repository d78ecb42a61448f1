#include "base/terminal/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

namespace stitch {
namespace {

TEST(Progress, LineOnATerminal) {
  Terminal terminal{.interactive = true, .width = 100};
  ProgressState state{.label = "importing", .detail = "9_ResNet18.py", .done = 12, .total = 48, .seconds = 6};
  EXPECT_EQ(progress_line(state, terminal),
            "⠋ importing ━━━━━━────────────────── 12/48  6.0 s  2/s  about 18 s left  9_ResNet18.py");
  terminal.utf8 = false;
  state.total = 0;
  state.seconds = 75;
  state.done = 0;
  EXPECT_EQ(progress_line(state, terminal), "| importing  1:15  9_ResNet18.py");
}

TEST(Progress, LineInALog) {
  ProgressState state{.label = "importing", .done = 3, .total = 50, .seconds = 3725};
  EXPECT_EQ(progress_line(state, {}), "importing 3/50  1:02:05  20:41 each  about 16:12:38 left");
}

TEST(Progress, NeverWiderThanTheTerminal) {
  ProgressState state{.label = "importing", .detail = std::string(200, 'x')};
  EXPECT_LE(display_width(progress_line(state, {.interactive = true, .width = 60})), 59);
}

TEST(Progress, QuietIsSilentAndShortWorkLeavesNothingInALog) {
  std::ostringstream quiet, log;
  {
    Progress a(quiet, {.interactive = true}, true, "working");
    Progress b(log, {}, false, "working");
    a.say("nothing");
    b.advance();
  }
  EXPECT_EQ(quiet.str(), "");
  EXPECT_EQ(log.str(), "");
}

TEST(Progress, SaidLinesStay) {
  std::ostringstream out;
  { Progress(out, {.interactive = true}, false, "working").say("done: a.py"); }
  EXPECT_EQ(out.str(), "done: a.py\n");
}

TEST(Progress, LinesBelowAreRedrawnInPlaceAndGoneAtTheEnd) {
  std::ostringstream out;
  {
    Progress progress(out, {.interactive = true, .width = 40}, false, "working");
    std::atomic<int> drawn = 0;
    progress.show_below([&](const Terminal& terminal) {
      ++drawn;
      return std::vector<std::string>{"  \x1b[32mstep\x1b[0m one", format("  width {}", terminal.width)};
    });
    while (drawn < 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(out.str().find("\n  \x1b[32mstep\x1b[0m one\x1b[K\n  width 40\x1b[K"), std::string::npos);
  EXPECT_NE(out.str().find("\x1b[2A\r"), std::string::npos);         // over the picture before
  EXPECT_TRUE(out.str().ends_with("\x1b[2A\r\x1b[J")) << out.str();  // and nothing is left
}

TEST(Progress, KnowsHowATerminalThatBecameNarrowerWraps) {
  EXPECT_EQ(rows_of({"12345678", "", "\x1b[32m1234\x1b[0m"}, 80), 3);
  EXPECT_EQ(rows_of({"12345678", "", "\x1b[32m1234\x1b[0m"}, 4), 4);
  EXPECT_EQ(rows_of({"123456789"}, 4), 3);
}

}  // namespace
}  // namespace stitch
