// --direct takes the whole plan at once: by the same estimates it must be no slower than the default, which
// goes step by step and drops what doesn't gain.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "code/technique.h"
#include "device/gpu_spec.h"
#include "import/task.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {
namespace {

std::vector<fs::path> examples() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(STITCH_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".py") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

TEST(Direct, IsNeverSlowerThanTheDefaultByTheSameEstimates) {
  auto exporter = Exporter::start("");
  ASSERT_TRUE(exporter) << exporter.error().text();
  const plan::Techniques techniques = code::techniques();
  const GpuSpec gpu = *find_gpu("H200");
  auto all = [](const plan::StepRule&) { return true; };
  for (const fs::path& example : examples()) {
    auto task = open_task(*exporter, example, {.weights = false});
    ASSERT_TRUE(task) << example << ": " << task.error().text();
    const Graph& graph = (*task)->graph;
    for (const char* numerics : {"strict", "default", "tf32", "half"}) {
      SCOPED_TRACE(example.stem().string() + " " + numerics);
      auto direct = plan::best_plan_of_steps(graph, numerics, techniques, gpu, all);
      auto stepwise = plan::make_plan(graph, numerics, techniques, gpu);
      ASSERT_TRUE(direct && stepwise);
      const double by_default = plan::estimate(graph, *stepwise, gpu);
      EXPECT_LE(direct->seconds, by_default);
      EXPECT_EQ(direct->seconds, plan::estimate(graph, direct->plan, gpu));
      for (const plan::Step& step : direct->left_out)
        EXPECT_TRUE(std::ranges::none_of(direct->plan.steps, [&](const plan::Step& each) {
          return each.title == step.title;
        })) << step.title;
    }
  }
}

}  // namespace
}  // namespace stitch::agents
