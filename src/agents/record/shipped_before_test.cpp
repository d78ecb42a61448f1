#include "agents/record/shipped_before.h"

#include <gtest/gtest.h>

namespace stitch::agents {
namespace {

ProgramFacts program(const char* judged, const char* seconds) {
  return {{"task", "a"},          {"class", ""},      {"numerics", "default"}, {"times", "measured"},
          {"gpu", "NVIDIA H200"}, {"judged", judged}, {"seconds", seconds}};
}

TEST(ShippedBefore, AFullyJudgedProgramIsNotReplacedByAQuickOne) {
  EXPECT_EQ(why_better(program("fully", "2e-5"), program("quickly", "1e-5")),
            "it passed every gate, this one only the quick ones");
  EXPECT_EQ(why_better(program("quickly", "1e-5"), program("fully", "2e-5")), "");
}

TEST(ShippedBefore, AFasterProgramIsNotReplaced) {
  EXPECT_EQ(why_better(program("fully", "1e-5"), program("fully", "2e-5")),
            "it takes 10 us per call, this one 20 us (measured)");
  EXPECT_EQ(why_better(program("fully", "1.99e-5"), program("fully", "2e-5")), "") << "noise";
  EXPECT_EQ(why_better(program("fully", "3e-5"), program("fully", "2e-5")), "");
}

TEST(ShippedBefore, OnlyLikeIsComparedWithLike) {
  for (const char* what : {"task", "class", "numerics", "times", "gpu"}) {
    ProgramFacts there = program("fully", "1e-5");
    there[what] = "another";
    EXPECT_EQ(why_better(there, program("quickly", "2e-5")), "") << what;
  }
  EXPECT_EQ(why_better({}, program("quickly", "2e-5")), "");
}

TEST(ShippedBefore, IsLookedAtBeforeTheWork) {
  auto scratch = ScratchFolder::create("stitch-shipped");
  ASSERT_TRUE(scratch);
  OptimizeOptions options{.model = scratch->path() / "model.py", .out = scratch->path() / "out"};
  ASSERT_TRUE(write_file(options.model, "class Model: pass"));
  EXPECT_TRUE(check_place(options));
  auto there = OutputFolder::create(options.out);
  ASSERT_TRUE(there);
  for (const auto& [fact, value] : facts_of(options, true)) there->note(fact, value);
  ASSERT_TRUE(there->publish());
  EXPECT_TRUE(check_place(options)) << "as fully judged as this one";
  options.quick = true;
  auto refused = check_place(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  options.overwrite = Overwrite::force;
  EXPECT_TRUE(check_place(options));
}

}  // namespace
}  // namespace stitch::agents
