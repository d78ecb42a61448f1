// Programs with a known bottleneck on the emulated GPU, which has no times but knows what ran.
#include "profile/collect.h"

#include <gtest/gtest.h>

#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "profile/regions.h"

namespace stitch::profile {
namespace {

Result<Collected> collected(const std::string& program) {
  return collect({.program = fs::path(STITCH_SOURCE_DIR) / "src/profile/testdata/known_bottlenecks" / program,
                  .gpu = *find_gpu("H200")});
}

TEST(Collect, TellsWhatRan) {
  auto copies = must(collected("copies_to_host.cu"));
  ASSERT_EQ(copies.timeline.activities.size(), 4u);
  EXPECT_EQ(copies.timeline.activities[0].name, "halve");
  EXPECT_EQ(copies.timeline.activities[1].kind, ActivityKind::copy);
  EXPECT_EQ(copies.timeline.activities[1].bytes, 4 << 12);
  EXPECT_EQ(copies.timeline.times, Times::none);
  EXPECT_EQ(copies.metrics.at("halve").launches, 2);
  EXPECT_FALSE(copies.missing.empty());
}

// A profiler that starts the process itself: a script stands in for nsys, and the call runs from a file of
// requests.
TEST(Collect, RunsTheCallUnderOtherProfilers) {
  auto folder = must(ScratchFolder::create("stitch_nsys_test"));
  const fs::path fake = folder.path() / "nsys", report = folder.path() / "call.nsys-rep";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\nreport=$7\nshift 7\n\"$@\" && echo fine >\"$report\"\n"));
  fs::permissions(fake, fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  const CollectOptions options{
      .program = fs::path(STITCH_SOURCE_DIR) / "src/profile/testdata/known_bottlenecks/copies_to_host.cu",
      .gpu = *find_gpu("H200"),
      .nsys_report = report};
  auto without = collect(options);
  ::setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  auto with = collect(options);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(with) << with.error().text();
  EXPECT_TRUE(with->notes.empty()) << with->notes[0];
  EXPECT_EQ(*read_file(report), "fine\n");
  ASSERT_TRUE(without);
  if (!find_program("nsys")) {
    ASSERT_EQ(without->notes.size(), 1u);
    EXPECT_NE(without->notes[0].find("not installed"), std::string::npos) << without->notes[0];
  }
}

TEST(Collect, RefusesWhatIsNoProgram) {
  auto nothing = collected("missing.cu");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().blame, Error::Blame::user);
}

TEST(Regions, KernelsFindTheirs) {
  Manifest manifest;
  manifest.regions = {
      {.name = "conv1"}, {.name = "fc1_matmul"}, {.name = "fc1_matmul_relu"}, {.name = "fc2"}};
  auto ran = [](std::string name) { return Activity{.name = std::move(name)}; };
  auto owners = [](const Timeline& timeline) {
    std::vector<int> out;
    for (const Activity& activity : timeline.activities) out.push_back(activity.region);
    return out;
  };
  Timeline timeline = make_timeline(Side::program, "emulated",
                                    {ran("conv1_kernel()"), ran("sm90_xmma_gemm"),
                                     ran("fc1_matmul_relu(float*)"), ran("nvjet"), ran("splitK_reduce")});
  assign_regions(timeline, manifest);
  EXPECT_EQ(owners(timeline), (std::vector<int>{0, 1, 2, 3, 3}));
  // What regions launch alone counts more than names.
  assign_regions(
      timeline, manifest,
      {{"conv1_kernel()"}, {"sm90_xmma_gemm", "fc1_matmul_relu(float*)"}, {}, {"nvjet", "splitK_reduce"}});
  EXPECT_EQ(owners(timeline), (std::vector<int>{0, 1, 1, 3, 3}));
  // Another instance of a template, and a kernel of a library that alone was not seen: one of them costs the
  // others nothing. Three regions share a kernel, and each has its launch of it.
  timeline = make_timeline(Side::program, "H200",
                           {ran("pool()"), ran("stitch::conv<A, false>(float*)"), ran("pool()"),
                            ran("nchwToNhwc"), ran("xmma"), ran("pool()")});
  assign_regions(timeline, manifest,
                 {{"pool()"}, {"stitch::conv<A, true>(float*)", "pool()"}, {"xmma"}, {"pool()"}});
  EXPECT_EQ(owners(timeline), (std::vector<int>{0, 1, 1, 1, 2, 3}));
}

}  // namespace
}  // namespace stitch::profile
