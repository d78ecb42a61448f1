// The whole plan must be no slower, by the same estimates, than steps that are taken one at a time where each
// gains. Every fourth example, all with STITCHCUDA_ALL_EXAMPLES=1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "gpu/gpu_spec.h"
#include "import/task.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {
namespace {

std::vector<fs::path> examples() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(STITCH_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".py") out.push_back(entry.path());
  std::ranges::sort(out);
  if (std::getenv("STITCHCUDA_ALL_EXAMPLES")) return out;
  std::vector<fs::path> some;  // importing takes its time
  for (size_t i = 0; i < out.size(); i += 4) some.push_back(out[i]);
  return some;
}

TEST(WholePlan, IsNeverSlowerThanStepsThatEachGain) {
  auto exporter = Exporter::start("");
  ASSERT_TRUE(exporter) << exporter.error().text();
  const GpuSpec gpu = *find_gpu("H200");
  auto all = [](const plan::StepRule&) { return true; };
  int every_step_loses = 0;
  for (const fs::path& example : examples()) {
    auto task = open_task(*exporter, example, {.weights = false, .limits = code::limits_on(gpu)});
    ASSERT_TRUE(task) << example << ": " << task.error().text();
    for (Numerics numerics : {Numerics::strict, Numerics::standard, Numerics::tf32, Numerics::half}) {
      SCOPED_TRACE(format("{} {}", example.stem().string(), name(numerics)));
      const plan::Context context((*task)->graph, gpu, numerics);
      auto whole = plan::best_plan_of_steps(context, code::catalogue(), all);
      auto stepwise = plan::make_plan(context, code::catalogue());
      ASSERT_TRUE(whole && stepwise);
      const double stepwise_seconds = plan::estimate(context, *stepwise);
      EXPECT_LE(whole->seconds, stepwise_seconds);
      EXPECT_EQ(whole->seconds, plan::estimate(context, whole->plan));
      for (const plan::Step& step : whole->left_out)
        EXPECT_TRUE(std::ranges::none_of(whole->plan.steps, [&](const plan::Step& each) {
          return each.title == step.title;
        })) << step.title;
      auto every = plan::plan_of_steps(context, code::catalogue(), all);
      ASSERT_TRUE(every);
      every_step_loses += plan::estimate(context, *every) > stepwise_seconds;
    }
  }
  if (std::getenv("STITCHCUDA_ALL_EXAMPLES")) {
    EXPECT_GT(every_step_loses, 0) << "there is nothing here to be slower than";
  }
}

}  // namespace
}  // namespace stitch::agents
