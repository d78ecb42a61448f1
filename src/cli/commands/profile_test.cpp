#include <sstream>

#include "base/testdata/must.h"
#include "cli/commands/profile.h"
#include "cli/testdata/ran.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/testdata/sample_profile.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"

namespace stitch {
namespace {

Ran profile_of(const ProfileCommand& command, bool json = false) {
  std::ostringstream out, err;
  Console console{out, err, {}, {}, json};
  auto code = run_profile(command, console);
  return {code ? *code : code.error().exit_code(), out.str(), code ? err.str() : code.error().text()};
}

const std::string known = std::string(STITCH_SOURCE_DIR) + "/src/profile/testdata/known_bottlenecks/";

TEST(Profile, OfAProgramAlone) {
  auto scratch = must(ScratchFolder::create("stitch_profile"));
  const std::string page = scratch.path() / "page.html", trace = scratch.path() / "trace.json";
  const ProfileCommand command{
      .target = known + "tiny_kernels.cu", .device = "emulated", .html = page, .trace = trace};
  const Ran ran = profile_of(command);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("20 kernels"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("add_one"), std::string::npos) << ran.out;
  auto text = must(read_file(page));
  EXPECT_NE(text.find("<body class=\"profile\">"), std::string::npos);
  auto events = must(parse_json(*read_file(trace)));
  EXPECT_GE(events.at("traceEvents").size(), 20u);
  const Ran again = profile_of(command);
  EXPECT_EQ(again.code, 0) << again.err;  // our own files may be written over
  const Ran document = profile_of({.target = known + "tiny_kernels.cu", .device = "emulated"}, true);
  auto json = parse_json(document.out);
  ASSERT_TRUE(json) << document.out;
  EXPECT_EQ(json->at("sides").size(), 1u);
  EXPECT_EQ(json->at("sides")[0].at("times"), "none");
}

// A library's product before a region's own kernel, and two regions that share one kernel's source.
TEST(Profile, RegionsHaveTheirOwnLaunchesAndThePlansTimes) {
  const Graph graph = *parse_graph(R"(graph "net"
parameter %w : f32[256,64]
parameter %v : f32[256,256]
input %x : f32[32,64]
%a = softmax(%x) dim=1 : f32[32,64]
%b = linear(%a, %w) : f32[32,256]
%c = softmax(%b) dim=1 : f32[32,256]
%d = linear(%c, %v) : f32[32,256]
%e = softmax(%d) dim=1 : f32[32,256]
output %e
end
)");
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(graph, gpu, Numerics::standard);
  const auto plan = plan::make_plan(context, code::catalogue());
  ASSERT_TRUE(plan) << plan.error().text();
  const auto contents = must(code::write_program(context, *plan));
  auto scratch = must(ScratchFolder::create("stitch_regions_test"));
  ASSERT_TRUE(write_package(scratch.path() / "program", contents));
  auto found = must(profile::collect({.program = scratch.path() / "program", .gpu = gpu, .counters = false}));
  std::map<std::string, int> launches;
  for (const profile::Activity& activity : found.timeline.activities) {
    ASSERT_GE(activity.region, 0) << activity.name;
    ++launches[found.manifest.regions[static_cast<size_t>(activity.region)].name];
  }
  for (const ManifestRegion& region : found.manifest.regions)
    EXPECT_EQ(launches[region.name], 1) << region.name;

  // The plan's own times, and no others.
  const auto planned =
      must(plan::read_planned_call(*parse_json(*read_file(scratch.path() / "program" / plan_file))));
  EXPECT_DOUBLE_EQ(planned.seconds, plan::estimate(context, *plan));
  estimate_times(found.timeline, planned);
  EXPECT_NEAR(static_cast<double>(found.timeline.activities.back().end_ns) * 1e-9, planned.seconds, 2e-9);
}

TEST(Profile, MistakesAreTheUsers) {
  EXPECT_EQ(profile_of({.target = "nothing.cu"}).code, 2);
  EXPECT_EQ(profile_of({.target = "nothing.py"}).code, 2);
  EXPECT_EQ(profile_of({.target = "model.py", .task = "other.py"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .program = "other"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .device = "toaster"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .baseline = "all"}).code, 2);
  EXPECT_EQ(profile_of({.target = known + "tiny_kernels.cu", .numerics = "vague"}).code, 2);
}

TEST(ProfileText, NamesBothSides) {
  const std::string text = profile_text(samples::profiled(true), {});
  for (const char* expected : {"PyTorch (eager): 70 kernels", "program (resnet18): 40 kernels", "bottleneck",
                               "launch-bound", "counters: no permission"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

}  // namespace
}  // namespace stitch
