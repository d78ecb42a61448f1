// A Python candidate speaks the same protocol in the same sandbox.
#include <algorithm>
#include <csignal>
#include <thread>

#include "runner/borrow.h"
#include "runner/testdata/bench.h"
#include "sandbox/sandbox.h"

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

// A virtual environment with a link to the interpreter and a .pth file that leads to the packages and torch.
TEST(PythonCandidate, FindsPackagesThatAPthFileNames) {
  const fs::path python = python_with_torch();
  if (python.empty()) GTEST_SKIP() << "needs a Python with torch (STITCHCUDA_PYTHON)";
  std::vector<std::string> told;
  auto asked = run({{python.string(), "-c",
                     "import os, sys, torch; print(os.path.realpath(sys.executable)); "
                     "print('python%d.%d' % sys.version_info[:2]); "
                     "print(os.path.dirname(os.path.dirname(torch.__file__)))"},
                    {},
                    std::chrono::seconds(120)},
                   [&](std::string_view line) { told.emplace_back(line); });
  ASSERT_TRUE(asked && told.size() == 3);
  auto scratch = ScratchFolder::create("stitch-venv");
  ASSERT_TRUE(scratch);
  const fs::path environment = scratch->path() / "venv",
                 packages = environment / "lib" / told[1] / "site-packages";
  fs::create_directories(packages);
  fs::create_directories(environment / "bin");
  fs::create_symlink(told[0], environment / "bin/python");
  ASSERT_TRUE(write_file(environment / "pyvenv.cfg",
                         format("home = {}\n", fs::path(told[0]).parent_path().string())));
  ASSERT_TRUE(write_file(packages / "elsewhere.pth", told[2] + "\n"));
  Options options;
  options.python = environment / "bin" / ".." / "bin" / "python";
  Bench bench = Bench::create();
  Candidate candidate = bench.start(options);
  auto loaded = candidate.load(fs::path(STITCH_SOURCE_DIR) / "src/runner/testdata/model_new.py");
  EXPECT_TRUE(loaded.ok()) << loaded.failure->message << loaded.failure->printed;
}

// Bubblewrap can't confine forks. Must run before the walls are first tried; each test is its own process.
bool leave_out_bubblewrap() {
  ::setenv("STITCHCUDA_WALLS", "landlock,seccomp,network namespace,control group,limits", 1);
  return sandbox::can_confine_forks();
}

std::string what_it_found(const Options& options) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start(options);
  if (!candidate.load(fs::path(STITCH_SOURCE_DIR) / "src/runner/testdata/looks_around.py").ok()) return "";
  auto created = candidate.create({&bench.scale, 1}, R"({"arguments": [], "parameters": ["scale"]})");
  return created.failure ? created.failure->message : "";
}

TEST(LentPythonCandidate, IsBehindTheSameWalls) {
  Options options;
  options.python = python_with_torch();
  if (options.python.empty()) GTEST_SKIP() << "needs a Python with torch (STITCHCUDA_PYTHON)";
  if (!leave_out_bubblewrap()) GTEST_SKIP() << "the walls were tried before";
  ::setenv("STITCH_TEST_SECRET", "sesame", 1);
  const std::string own = what_it_found(options);
  EXPECT_NE(own.find("found:"), std::string::npos) << own;
  auto lender = CandidateLender::start(options.python);
  ASSERT_TRUE(lender) << lender.error().text();
  EXPECT_EQ(what_it_found(options), own);
  if (sandbox::keeps_files_apart() && sandbox::has(sandbox::Wall::seccomp)) {
    EXPECT_NE(own.find("found: ; at home in True"), std::string::npos) << own;
  }
}

TEST(LentPythonCandidate, ComputesAndEndsWithItsCandidate) {
  Options options;
  options.python = python_with_torch();
  if (options.python.empty()) GTEST_SKIP() << "needs a Python with torch (STITCHCUDA_PYTHON)";
  if (!leave_out_bubblewrap()) GTEST_SKIP() << "the walls were tried before";
  auto lender = CandidateLender::start(options.python);
  ASSERT_TRUE(lender) << lender.error().text();
  Bench bench = Bench::create();
  pid_t number = 0;
  {
    Candidate candidate = bench.start(options);
    EXPECT_LT(candidate.cpu_time(), 1'000'000'000) << "it imported PyTorch itself";
    number = candidate.process_number();
    auto loaded = candidate.load(fs::path(STITCH_SOURCE_DIR) / "src/runner/testdata/model_new.py");
    ASSERT_TRUE(loaded.ok()) << loaded.failure->message << loaded.failure->printed;
    auto created = candidate.create({&bench.scale, 1}, R"({"arguments": [], "parameters": ["scale"]})");
    ASSERT_TRUE(created.ok()) << created.failure->message << created.failure->printed;
    auto set = candidate.place({&bench.x, 1});
    ASSERT_TRUE(set.ok()) << set.failure->message;
    auto called = candidate.call(set.value, {&bench.vector, 1});
    ASSERT_TRUE(called.ok()) << called.failure->message << called.failure->printed;
    EXPECT_TRUE(bench.right(candidate));
    EXPECT_EQ(::kill(-number, 0), 0);
  }
  for (int i = 0; i < 6000 && ::kill(-number, 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(::kill(-number, 0), 0);
}

// Its exit status is reported like that of our own child.
TEST(LentPythonCandidate, IsToldHowItEnded) {
  Options options;
  options.python = python_with_torch();
  if (options.python.empty()) GTEST_SKIP() << "needs a Python with torch (STITCHCUDA_PYTHON)";
  if (!leave_out_bubblewrap()) GTEST_SKIP() << "the walls were tried before";
  auto lender = CandidateLender::start(options.python);
  ASSERT_TRUE(lender) << lender.error().text();
  const fs::path folder = fs::temp_directory_path() / format("stitch-endings-{}", ::getpid());
  fs::create_directories(folder);
  struct Ending {
    const char* line;
    FailureKind kind;
    int code;
  };
  for (const Ending& ending :
       {Ending{"import os; os._exit(7)", FailureKind::left_early, 7},
        Ending{"import os; os.kill(os.getpid(), 11)", FailureKind::crashed, SIGSEGV},
        Ending{"kept = [bytearray(1 << 26) for _ in range(64)]", FailureKind::out_of_memory, 0},
        Ending{"while True: pass", FailureKind::hung, 0}}) {
    const fs::path file = folder / "ends.py";
    ASSERT_TRUE(write_file(file, std::string(ending.line) + "\n"));
    options.time_limit = std::chrono::seconds(4);
    options.memory_limit = int64_t{2} << 30;  // PyTorch with CUDA takes half of that
    Bench bench = Bench::create();
    Candidate candidate = bench.start(options);
    auto loaded = candidate.load(file);
    if (loaded.ok()) {
      auto created = candidate.create({&bench.scale, 1}, R"({"arguments": [], "parameters": ["scale"]})");
      loaded.failure = created.failure;
    }
    ASSERT_TRUE(loaded.failure) << ending.line;
    EXPECT_EQ(name(loaded.failure->kind), name(ending.kind))
        << ending.line << ": " << loaded.failure->message;
    if (ending.code) {
      EXPECT_EQ(loaded.failure->code, ending.code) << ending.line;
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace stitch::runner
