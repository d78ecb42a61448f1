// What the live view says, and that it fits.
#include "cli/commands/optimize/optimize_view.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

using Fate = ViewState::Step::Fate;

ViewState sample() {
  return {.steps = {{.name = "plain", .said = {}, .fate = Fate::kept, .after = 2.4e-3},
                    {.name = "libraries", .said = {}, .fate = Fate::kept, .before = 2.4e-3, .after = 1.2e-3},
                    {.name = "tensor cores", .said = "correctness: too far off", .fate = Fate::dropped},
                    {.name = "loops", .said = "compiling relu.cu", .attempt = 1}},
          .attempts = 5,
          .best = 1.2e-3,
          .baselines = {{"eager", 3.6e-3}},
          .log = {"correctness", "compiling \x1b[2Jrelu.cu"},
          .budget = 180,
          .elapsed = 75};
}

TEST(OptimizeView, SaysWhatBecameOfTheStepsAndWhatIsAtHand) {
  const std::vector<std::string> expected = {
      "  ✓ plain         2.4 ms",
      "  ✓ libraries     1.2 ms  2.00x",
      "  ✗ tensor cores  correctness: too far off",
      "  ▸ loops         attempt 2  compiling relu.cu",
      "  best 1.2 ms a call, budget 1:15 of 3:00, 5 attempts, eager 3.6 ms (3.00x)",
      "    correctness",
      "    compiling ?[2Jrelu.cu"};
  EXPECT_EQ(view_lines(sample(), {.interactive = true, .width = 100}), expected);
}

TEST(OptimizeView, FitsEveryTerminal) {
  ViewState state = sample();
  for (int i = 0; i < 30; ++i) state.steps.push_back({.name = "step", .said = std::string(300, 'x')});
  for (int width : {10, 20, 40, 80, 300})
    for (const std::string& line : view_lines(state, {.interactive = true, .width = width})) {
      EXPECT_LT(display_width(line), width) << line;
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
  EXPECT_LE(view_lines(state, {.interactive = true, .width = 80}).size(), 14u);
}

}  // namespace
}  // namespace stitch
