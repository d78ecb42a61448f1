// Programs with a known bottleneck on the emulated GPU, which has no times but knows what ran.
#include "profile/collect.h"

#include <gtest/gtest.h>

#include "base/process.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/estimate.h"
#include "plan/steps.h"
#include "profile/regions.h"

namespace stitch::profile {
namespace {

Result<Collected> collected(const std::string& program) {
  return collect({.program = fs::path(STITCH_SOURCE_DIR) / "tools/known_bottlenecks" / program,
                  .gpu = *find_gpu("H200")});
}

TEST(Collect, TellsWhatRan) {
  auto copies = collected("copies_to_host.cu");
  ASSERT_TRUE(copies) << copies.error().text();
  ASSERT_EQ(copies->timeline.activities.size(), 4u);
  EXPECT_EQ(copies->timeline.activities[0].name, "halve");
  EXPECT_EQ(copies->timeline.activities[1].kind, ActivityKind::copy);
  EXPECT_EQ(copies->timeline.activities[1].bytes, 4 << 12);
  EXPECT_EQ(copies->timeline.times, Times::none);
  EXPECT_EQ(copies->metrics.at("halve").launches, 2);
  EXPECT_FALSE(copies->missing.empty());
}

// A profiler that starts the process itself: a script stands in for nsys, and the call runs from a file of
// requests.
TEST(Collect, RunsTheCallUnderOtherProfilers) {
  auto folder = ScratchFolder::create("stitch_nsys_test");
  ASSERT_TRUE(folder);
  const fs::path fake = folder->path() / "nsys", report = folder->path() / "call.nsys-rep";
  ASSERT_TRUE(write_file(fake, "#!/bin/sh\nreport=$7\nshift 7\n\"$@\" && echo fine >\"$report\"\n"));
  fs::permissions(fake, fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  const CollectOptions options{
      .program = fs::path(STITCH_SOURCE_DIR) / "tools/known_bottlenecks/copies_to_host.cu",
      .gpu = *find_gpu("H200"),
      .nsys_report = report};
  auto without = collect(options);
  ::setenv("PATH", (folder->path().string() + ":" + path).c_str(), 1);
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
}

// A library's product before a region's own kernel, and two regions that share one kernel's source.
TEST(Regions, OfAProgramHaveTheirOwnLaunches) {
  const Graph graph = *parse_graph(R"(graph "net"
parameter %w : f32[256,64] data="w"
parameter %v : f32[256,256] data="v"
input %x : f32[32,64]
%a = softmax(%x) {dim=1} : f32[32,64]
%b = linear(%a, %w) : f32[32,256]
%c = softmax(%b) {dim=1} : f32[32,256]
%d = linear(%c, %v) : f32[32,256]
%e = softmax(%d) {dim=1} : f32[32,256]
output %e
end
)");
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  const auto plan = plan::make_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const auto contents = code::write_program(context, *plan);
  ASSERT_TRUE(contents) << contents.error().text();
  auto scratch = ScratchFolder::create("stitch_regions_test");
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(write_package(scratch->path() / "program", *contents));
  auto found = collect({.program = scratch->path() / "program", .gpu = gpu, .counters = false});
  ASSERT_TRUE(found) << found.error().text();
  std::map<std::string, int> launches;
  for (const Activity& activity : found->timeline.activities) {
    ASSERT_GE(activity.region, 0) << activity.name;
    ++launches[found->manifest.regions[static_cast<size_t>(activity.region)].name];
  }
  for (const ManifestRegion& region : found->manifest.regions)
    EXPECT_EQ(launches[region.name], 1) << region.name;

  // The plan's own times, and no others.
  const auto planned =
      plan::read_planned_call(*parse_json(*read_file(scratch->path() / "program" / plan_file)));
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_DOUBLE_EQ(planned->seconds, plan::estimate(context, *plan));
  estimate_times(found->timeline, *planned);
  EXPECT_NEAR(static_cast<double>(found->timeline.activities.back().end_ns) * 1e-9, planned->seconds, 2e-9);
}

}  // namespace
}  // namespace stitch::profile
