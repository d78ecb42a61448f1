// What the end of optimize says, and in which order.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/bench.h"
#include "base/text.h"
#include "cli/commands/optimize/optimize_view.h"
#include "cli/pages/many_report.h"
#include "cli/testdata/sample_runs.h"

namespace stitch {

namespace {

const SummaryPlaces summary_places{"model.py", "out", "out/report.html"};

TEST(OptimizeSummary, FasterThanPyTorch) {
  const Json run = samples::optimized(true);
  EXPECT_EQ(
      headline(run),
      "308 us per call: 1.20x as fast as the best PyTorch (compile-graph, 370 us), 1.20x as fast as eager "
      "(370 us).");
  EXPECT_FALSE(standing_of(run).slower());
  EXPECT_EQ(summary_text(run, summary_places, {}),
            headline(run) +
                "\nNote:   Baselines come from the cache: measured on 2026-11-15 with PyTorch 2.11.\n"
                "Report: out/report.html\nNext:   from PyTorch: ModelNew in "
                "out/model_new.py; from C++: out/README.md\n");
}

TEST(OptimizeSummary, BaselinesHaveTheFreedomOfTheClass) {
  Json run = samples::optimized(true);
  run["verdict"]["class"] = "tf32";
  EXPECT_TRUE(
      headline(run).starts_with("308 us per call: 1.20x as fast as the best PyTorch with TF32 (compile-"))
      << headline(run);
}

TEST(OptimizeSummary, SlowerIsSaidFirstWithTheReasonOfEachRegion) {
  Json run = samples::optimized(true);
  run["seconds_a_call"] = 5e-4;
  EXPECT_TRUE(standing_of(run).slower());
  const std::string text = summary_text(run, summary_places, {});
  EXPECT_TRUE(text.starts_with(
      "Slower than PyTorch: 500 us per call, 0.74x as fast as the best PyTorch (compile-graph, 370 us), "
      "0.74x "
      "as fast as eager (370 us).\n"
      "  conv1_conv (convolution by cuDNN, fp16, channels last): 48.2 us, 10 % of the call\n"))
      << text;
  EXPECT_NE(text.find("  step not kept: one CUDA graph: the whole program did not get better\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Next:   stitchcuda profile out --task model.py --html profile.html"),
            std::string::npos)
      << text;
  add_summary(run);
  EXPECT_TRUE(word(run, "headline").starts_with("Slower than PyTorch")) << run["headline"];
  EXPECT_EQ(run["slower_because"].size(), 2u);
  EXPECT_EQ(run["pytorch"]["best"], "compile-graph");
  EXPECT_DOUBLE_EQ(run["regions"][0]["measured_seconds"].get<double>(), 48.2e-6);
  EXPECT_FALSE(run["regions"][3].contains("measured_seconds"));
}

TEST(OptimizeSummary, WithoutAGpuTimesAreEstimates) {
  Json run = samples::optimized(false);
  run["verdict"].erase("timing");
  EXPECT_EQ(headline(run), "308 us per call, estimated for an H200; PyTorch was not timed.");
  run["ledger"]["pytorch_estimated_seconds"] = {{"eager", 1.54e-3}, {"eager-graph", 4.62e-4}};
  EXPECT_EQ(
      headline(run),
      "308 us per call, estimated for an H200: 1.50x as fast as the best PyTorch (eager-graph, 462 us), "
      "5.00x as fast as eager (1.54 ms).");
  run["gates"] = "passed 10 of 13 gates; not run: timing";
  EXPECT_NE(summary_text(run, summary_places, {}).find("Gates:  passed 10 of 13 gates; not run: timing\n"),
            std::string::npos);
  run["seconds_a_call"] = 5e-4;
  EXPECT_TRUE(headline(run).starts_with("Slower than PyTorch: 500 us per call, estimated for an H200, 0.92x"))
      << headline(run);
  run["seconds_a_call"] = 4.62e-4;
  EXPECT_TRUE(
      headline(run).starts_with("No faster than PyTorch: 462 us per call, estimated for an H200, 1.00x"))
      << headline(run);
  run["seconds_a_call"] = 3.08e-4;
  EXPECT_NE(summary_text(run, summary_places, {})
                .find("Next:   on a machine with a GPU: stitchcuda verify out --task model.py"),
            std::string::npos);
  run["gpu"] = "B200";
  EXPECT_NE(headline(run).find("for a B200"), std::string::npos);
  run["cut_off"] = {{"try_budget", 40}};
  EXPECT_NE(
      summary_text(run, summary_places, {}).find("Next:   stitchcuda optimize model.py -o out --budget 40"),
      std::string::npos);
}

TEST(OptimizeSummary, AFailureHasItsReason) {
  Json run = samples::optimized(true);
  run["verdict"].update(
      Json{{"verdict", "failed"}, {"gate", "correctness"}, {"reason", "output 0 is wrong"}});
  EXPECT_EQ(headline(run), "Failed at correctness: output 0 is wrong");
}

TEST(BenchSummary, SaysWhatItsFiguresAreOf) {
  auto record = [](const char* name, bool passed, double seconds) {
    return std::make_shared<const Json>(Json{{"task", name},
                                             {"group", "level1"},
                                             {"passed", passed},
                                             {"code", passed ? "" : "wrong"},
                                             {"seconds_a_call", seconds},
                                             {"baselines", {{"eager", 1e-3}}},
                                             {"seconds", 9.0}});
  };
  Json summary = agents::summarise({record("level1/a", true, 5e-4), record("level1/c", false, 0)});
  summary["run"] = {{"gpu", "H200"}, {"kept_from_earlier", 1}, {"of_other_settings", 2}};
  const std::string notes = join(notes_on_bench(summary), "\n");
  for (const char* expected :
       {"1 of the tasks was not part of this run: kept from earlier runs in this folder.",
        "2 earlier results of another numerics class or device are left out.", "Speedups are over PyTorch's"})
    EXPECT_NE(notes.find(expected), std::string::npos) << expected << "\n" << notes;
}

// Without a GPU: what passed and what it is estimated to take, no columns of dashes.
TEST(BenchSummary, LeavesOutWhatNobodyMeasured) {
  Json summary = agents::summarise({std::make_shared<const Json>(Json{{"task", "a"},
                                                                      {"group", "."},
                                                                      {"passed", true},
                                                                      {"label", "clean"},
                                                                      {"seconds_a_call", 5e-4},
                                                                      {"times", "estimated"},
                                                                      {"seconds", 9.0}})});
  summary["run"] = {{"gpu", "H200"}, {"device", "emulated"}, {"stopped", false}};
  const std::string text = bench_text(summary, Terminal{});
  for (const char* nothing : {"–", "best baseline", "fast_1", "vs eager", "memory vs PyTorch", "0 partial"})
    EXPECT_EQ(text.find(nothing), std::string::npos) << nothing << "\n" << text;
  EXPECT_NE(text.find("500 us"), std::string::npos) << text;
}

}  // namespace

// What the live view says, and that it fits.

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
