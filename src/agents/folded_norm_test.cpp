// A batch norm that was folded into a convolution, and a clamp behind it, before every gate: regions pack
// folded weights when a program is created, and what they store in fp16 may be faint.
#include <gtest/gtest.h>

#include "base/file.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "gpu/gpu_spec.h"
#include "plan/steps.h"
#include "program/package.h"
#include "verify/verify.h"

namespace stitch::agents {
namespace {

// The model of testdata/tasks/conv_norm with a ReLU6.
Result<fs::path> clamped_task(const fs::path& folder) {
  fs::copy(STITCH_SOURCE_DIR "/src/verify/testdata/tasks/conv_norm/graph", folder);
  STITCH_TRY(std::string text, read_file(folder / "graph.txt"));
  const std::string relu = "= relu(%batch_norm) :";
  text.replace(text.find(relu), relu.size(), "= clamp(%batch_norm) low=0.0 high=6.0 :");
  STITCH_CHECK(write_file(folder / "graph.txt", text));
  return folder;
}

TEST(FoldedNorms, PassAloneOnFaintRows) {
  auto scratch = ScratchFolder::create("stitchcuda-folded");
  ASSERT_TRUE(scratch);
  auto task = clamped_task(scratch->path() / "graph");
  ASSERT_TRUE(task) << task.error().text();
  auto opened = verifier::open_task_to_judge(*task, {});
  ASSERT_TRUE(opened) << opened.error().text();
  const GpuSpec gpu = *find_gpu("H200");
  const plan::Context context(opened->task->graph, gpu, Numerics::standard);
  auto plan = plan::plan_of_steps(context, code::catalogue(), [](const plan::StepRule&) { return true; });
  ASSERT_TRUE(plan) << plan.error().text();
  auto contents = code::write_program(context, *plan);
  ASSERT_TRUE(contents) << contents.error().text();
  const fs::path program = scratch->path() / "program";
  ASSERT_TRUE(write_package(program, *contents));
  auto verifier = verifier::Verifier::open(*std::move(opened), {.numerics = Numerics::standard});
  ASSERT_TRUE(verifier) << verifier.error().text();
  auto verdict = (*verifier)->judge({.program = program, .numerics = Numerics::standard});
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_TRUE(verdict->passed()) << verdict->failure()->gate << ": " << verdict->failure()->summary;
  ASSERT_TRUE(verdict->gate("regions"));
  EXPECT_NE(verdict->gate("regions")->summary.find("on faint rows too"), std::string::npos)
      << verdict->gate("regions")->summary;
}

}  // namespace
}  // namespace stitch::agents
