#include "profile/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testdata/must.h"

namespace stitch::profile {
namespace {

Activity kernel(std::string name, int64_t start, int64_t end, int64_t stream = 7) {
  Activity out{.name = std::move(name), .start_ns = start, .end_ns = end, .stream = stream};
  out.grid[0] = out.block[0] = 32;
  out.grid[1] = out.grid[2] = out.block[1] = out.block[2] = 1;
  return out;
}
Activity call(std::string name, int64_t start, int64_t end, int64_t correlation = 0) {
  const bool graph = name == "cudaGraphLaunch";
  return {.name = std::move(name),
          .kind = graph ? ActivityKind::graph_launch : ActivityKind::host_call,
          .start_ns = start,
          .end_ns = end,
          .stream = 1,
          .correlation = correlation};
}

TEST(Timeline, SumsGapsAndOverlaps) {
  const Timeline timeline = make_timeline(Side::program, "H200",
                                          {kernel("b", 1500, 2500, 8), kernel("a", 1000, 2000),
                                           kernel("a", 4000, 4500), call("cudaLaunchKernel", 900, 950)});
  EXPECT_EQ(timeline.times, Times::measured);
  EXPECT_EQ(timeline.activities[0].start_ns, 100);  // the first of all is the host's call
  const Summary summary = summarise(timeline);
  EXPECT_EQ(summary.span_ns, 3500);
  EXPECT_EQ(summary.busy_ns, 2000);  // 1000 … 2500 once, and 500
  ASSERT_EQ(summary.gaps.size(), 1u);
  EXPECT_EQ(summary.gaps[0].nanoseconds(), 1500);
  EXPECT_EQ(summary.gaps[0].before, 1u);
  EXPECT_EQ(summary.gaps[0].after, 2u);
  EXPECT_NEAR(summary.idle_share(), 1500.0 / 3500, 1e-12);
  ASSERT_EQ(summary.by_name.size(), 2u);
  EXPECT_EQ(summary.by_name[0].name, "a");
  EXPECT_EQ(summary.by_name[0].count, 2);
  EXPECT_EQ(summary.by_name[0].nanoseconds, 1500);
  EXPECT_EQ(summary.launching_ns, 50);
}

TEST(Timeline, TellsOfNestedCallsOnlyTheOuterOne) {
  const Timeline timeline = make_timeline(
      Side::pytorch, "H200",
      {kernel("a", 500, 900), call("cuLaunchKernel", 110, 180), call("cudaLaunchKernel", 100, 200),
       call("cudaStreamSynchronize", 300, 1000), call("cudaGraphLaunch", 1100, 1200)});
  ASSERT_EQ(timeline.host.size(), 3u);
  const Summary summary = summarise(timeline);
  EXPECT_EQ(summary.host_calls, 3);
  EXPECT_EQ(summary.graph_launches, 1);
  EXPECT_EQ(summary.synchronisations, 1);
  EXPECT_EQ(summary.waiting_ns, 700);
}

TEST(Timeline, WithoutTimesOrActivities) {
  EXPECT_EQ(summarise(make_timeline(Side::program, "emulated", {})).span_ns, 0);
  const Timeline timeline = make_timeline(Side::program, "emulated", {kernel("a", 0, 0), kernel("b", 0, 0)});
  EXPECT_EQ(timeline.times, Times::none);
  EXPECT_EQ(timeline.activities[1].name, "b");
}

TEST(Timeline, ActivitiesAreTheSameAfterJson) {
  Activity copy{.name = "copy device to host",
                .kind = ActivityKind::copy,
                .start_ns = 5,
                .end_ns = 9,
                .stream = 3,
                .bytes = 4096,
                .correlation = 17,
                .in_graph = true};
  copy.counters["loads"] = 2.5;
  for (const Activity& activity : {kernel("a", 0, 4), copy, call("cudaGraphLaunch", 0, 1, 17)}) {
    auto back = must(runner::activity_from_json(to_json(activity)));
    EXPECT_EQ(back, activity);
  }
}

TEST(Timeline, RefusesWhatIsNoActivity) {
  for (const char* text : {"[]", R"({"kind": "kernel"})", R"({"name": "a", "kind": "party"})",
                           R"({"name": "a", "start_ns": "0"})",
                           R"({"name": "a", "start_ns": 5, "end_ns": 1})", R"({"name": "a", "grid": [1, 2]})",
                           R"({"name": "a", "in_graph": 1})", R"({"name": "a", "counters": {"x": "y"}})"})
    EXPECT_FALSE(runner::activity_from_json(Json::parse(text))) << text;
}

TEST(Timeline, ShortensNames) {
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::F>(int, F)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_name("(anonymous namespace)::scale(float const*, float*)"), "scale");
  EXPECT_EQ(short_name("fc1_matmul(float const*, float*)"), "fc1_matmul");
  EXPECT_EQ(short_name("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n"), "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n");
  EXPECT_EQ(short_name("copy host to device"), "copy host to device");
  EXPECT_EQ(short_name("cublasLtMatmul 128x64x256"), "cublasLtMatmul 128x64x256");
  EXPECT_EQ(short_name("(weird"), "(weird");
  EXPECT_EQ(short_name(""), "");
}

TEST(Timeline, BecomesAChromeTrace) {
  Activity launched = kernel("void f<int>(int*)", 1000, 3000);
  launched.correlation = 5;
  const Timeline timeline =
      make_timeline(Side::program, "H200", {launched, call("cudaLaunchKernel", 0, 500, 5)});
  const Json trace = chrome_trace({timeline, make_timeline(Side::pytorch, "H200", {kernel("g", 0, 0)})});
  int complete = 0, starts = 0, ends = 0;
  for (const Json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph").get<std::string>();
    complete += phase == "X";
    starts += phase == "s";
    ends += phase == "f";
    if (phase == "X" && event.at("name") == "f") {
      EXPECT_EQ(event.at("ts"), 1.0);
      EXPECT_EQ(event.at("dur"), 2.0);
      EXPECT_EQ(event.at("args").at("name"), "void f<int>(int*)");
    }
  }
  EXPECT_EQ(complete, 3);
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace stitch::profile
