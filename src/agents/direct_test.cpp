// --direct takes the whole plan at once: by the same estimates it must be no slower than the default, which
// goes step by step and drops what doesn't gain.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "code/technique.h"
#include "device/gpu_spec.h"
#include "import/import.h"
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
  int every_step_loses = 0;
  for (const fs::path& example : examples()) {
    auto graph = import_graph(*exporter, {.task = example, .weights = false}, {});
    ASSERT_TRUE(graph) << example << ": " << graph.error().text();
    for (const char* numerics : {"strict", "default", "tf32", "half"}) {
      SCOPED_TRACE(example.stem().string() + " " + numerics);
      auto direct = plan::best_plan_of_steps(*graph, numerics, techniques, gpu, all);
      auto stepwise = plan::make_plan(*graph, numerics, techniques, gpu);
      ASSERT_TRUE(direct && stepwise);
      const double by_default = plan::estimate(*graph, *stepwise, gpu);
      EXPECT_LE(direct->seconds, by_default);
      EXPECT_EQ(direct->seconds, plan::estimate(*graph, direct->plan, gpu));
      for (const plan::Step& step : direct->left_out)
        EXPECT_TRUE(std::ranges::none_of(direct->plan.steps, [&](const plan::Step& each) {
          return each.title == step.title;
        })) << step.title;
      auto every = plan::plan_of_steps(*graph, numerics, techniques, gpu, all);
      ASSERT_TRUE(every);
      every_step_loses += plan::estimate(*graph, *every, gpu) > by_default;
    }
  }
  EXPECT_GT(every_step_loses, 0) << "there is nothing here to be slower than";
}

}  // namespace
}  // namespace stitch::agents
