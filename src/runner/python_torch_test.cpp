// A Python candidate speaks the same protocol behind the same walls.
#include "runner/testdata/bench.h"

namespace stitch::runner {
namespace {

fs::path python_with_torch() {
  const char* told = std::getenv("STITCHCUDA_PYTHON");
  const fs::path python = told ? fs::path(told) : fs::path(STITCH_SOURCE_DIR) / ".venv/bin/python";
  auto finished = run({{python.string(), "-c", "import torch"}, {}, std::chrono::seconds(120)});
  return finished && finished->exit_code == 0 ? python : fs::path();
}

TEST(PythonCandidate, ComputesAndIsFetched) {
  Options options;
  options.python = python_with_torch();
  if (options.python.empty()) GTEST_SKIP() << "needs a Python with torch (STITCHCUDA_PYTHON)";
  Bench bench = Bench::create();
  Candidate candidate = bench.start(options);
  auto loaded = candidate.load(fs::path(STITCH_SOURCE_DIR) / "src/runner/testdata/model_new.py");
  ASSERT_TRUE(loaded.ok()) << loaded.failure->message << loaded.failure->printed;
  auto created = candidate.create({&bench.scale, 1}, R"({"arguments": [], "parameters": ["scale"]})");
  ASSERT_TRUE(created.ok()) << created.failure->message << created.failure->printed;
  auto set = candidate.place({&bench.x, 1});
  ASSERT_TRUE(set.ok()) << set.failure->message;
  auto called = candidate.call(set.value, {&bench.vector, 1});
  ASSERT_TRUE(called.ok()) << called.failure->message << called.failure->printed;
  EXPECT_TRUE(bench.right(candidate));
}

}  // namespace
}  // namespace stitch::runner
