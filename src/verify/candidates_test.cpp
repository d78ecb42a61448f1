// Programs that cheat, break or misbehave, and honest ones that look as if they did, each with the verdict
// it must get: the first line of its file. `// task: NAME` in the second one names a task of testdata/tasks.
// STITCHCUDA_TEST_DEVICE=cuda runs them on the GPU, STITCHCUDA_CHEATS=all all of them (./dev cheats); else
// those that say "./dev cheats" are left out. STITCHCUDA_CHEATS=NAME,NAME runs these of the Python ones,
// which may name a task (`# task: NAME`) and a numerics class (`# class: NAME`).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/machine/time_account.h"
#include "base/text.h"
#include "verify/testdata/judged.h"
#include "verify/verify.h"

namespace stitch::verifier {

namespace {

const fs::path testdata = fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata";

bool on_gpu() {
  const char* device = std::getenv("STITCHCUDA_TEST_DEVICE");
  return device && std::string_view(device) == "cuda";
}

bool all_of_them() {
  const char* asked = std::getenv("STITCHCUDA_CHEATS");
  return on_gpu() || (asked && std::string_view(asked) == "all");
}

std::vector<std::string> lines_of(const fs::path& file) { return split(*read_file(file), '\n'); }

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(testdata / "candidates")) {
    if (entry.path().extension() != ".cu") continue;
    if (!all_of_them() && lines_of(entry.path())[0].ends_with("(./dev cheats)")) continue;
    names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path task_of(const fs::path& file) {
  constexpr std::string_view mark = "// task: ";
  const std::string line = lines_of(file)[1];
  if (!line.starts_with(mark)) return testdata / "row_center/graph";
  // NAME/task.py: by PyTorch, which knows of NaN what the oracle doesn't.
  const fs::path task = testdata / "tasks" / line.substr(mark.size());
  return task.extension() == ".py" ? task : task / "graph";
}

// "thread order: missing_barrier | passed on cuda", in a comment or a docstring. On a GPU those count that
// say so, if any does. What stands behind "—" is for readers.
std::vector<std::string> expected_verdicts(const fs::path& file) {
  constexpr std::string_view mark = " on cuda";
  std::string line = lines_of(file)[0].substr(3);
  line = line.substr(0, std::min({line.find("(./dev cheats)"), line.find("\"\"\""), line.find("—")}));
  std::vector<std::string> all, of_cuda;
  std::string gate;
  for (const std::string& part : split(line, '|')) {
    std::string one = trim(part);
    const bool cuda = one.ends_with(mark);
    if (cuda) one = one.substr(0, one.size() - mark.size());
    // "gate: code | code" shares the gate.
    if (const size_t colon = one.find(':'); colon != std::string::npos)
      gate = one.substr(0, colon + 2);
    else if (one != "passed")
      one = gate + one;
    (cuda ? of_cuda : all).push_back(one);
  }
  return on_gpu() && !of_cuda.empty() ? of_cuda : all;
}

VerifyOptions options_for(const fs::path& program) {
  VerifyOptions options{.program = program};
  options.device = on_gpu() ? runner::Device::cuda : runner::Device::emulated;
  options.time_limit = std::chrono::seconds(on_gpu() ? 10 : 5);
  // Some never end; a busy machine takes its time for the others.
  const bool ends = program.empty() || expected_verdicts(program)[0] != "build: build_failed";
  options.build_time_limit = std::chrono::seconds(ends ? 120 : 12);
  options.memory_limit = int64_t{on_gpu() ? 8 : 1} << 30;
  options.timing = on_gpu();
  options.rehearse_timing = !on_gpu();
  return options;
}

class Candidates : public testing::TestWithParam<std::string> {};

}  // namespace

TEST_P(Candidates, GetTheirVerdict) {
  fs::path file = testdata / "candidates" / (GetParam() + ".cu");
  auto verdict = judged_in_peace([&] { return verify(task_of(file), options_for(file)); });
  if (was_too_busy(verdict)) GTEST_SKIP() << verdict.error().message;
  ASSERT_TRUE(verdict) << verdict.error().text();
  std::vector<std::string> expected = expected_verdicts(file);
  std::string got = in_words(*verdict);
  if (all_of_them()) std::cout << "verdict of " << GetParam() << ": " << got << '\n';
  EXPECT_TRUE(std::ranges::find(expected, got) != expected.end())
      << "expected " << join(expected, " or ") << "\n"
      << table(*verdict, {});
  if (const GateReport* failure = verdict->failure()) {
    EXPECT_FALSE(failure->summary.empty());
  }
}

// It passes where it was judged; what nvcc would make of it is said to be unknown.
TEST(Conditions, OnTheCompilerAreTold) {
  if (on_gpu()) GTEST_SKIP() << "nvcc compiles it there";
  auto notes_of = [](const char* name) {
    const fs::path file = testdata / "candidates" / (std::string(name) + ".cu");
    VerifyOptions options = options_for(file);
    options.rehearse_timing = false;
    auto verdict = verify(task_of(file), options);
    EXPECT_TRUE(verdict && verdict->passed());
    return verdict ? join(verdict->notes, "\n") : "";
  };
  EXPECT_NE(notes_of("another_text_for_nvcc").find("another_text_for_nvcc.cu:6"), std::string::npos);
  EXPECT_NE(notes_of("another_text_by_a_name").find("another_text_by_a_name.cu:9"), std::string::npos);
  EXPECT_EQ(notes_of("honest").find("nvcc"), std::string::npos);
}

// Many programs of a task are asked the same, but for one question that no other was asked.
TEST(RememberedTrials, HaveOneThatNobodyKnows) {
  VerifyOptions options = options_for(testdata / "candidates/honest.cu");
  options.timing = options.rehearse_timing = false;
  options.remember_trials = true;
  options.seed = 20;
  auto task = open_task_to_judge(testdata / "row_center/graph", {});
  ASSERT_TRUE(task) << task.error().text();
  auto verifier = Verifier::open(*std::move(task), options);
  ASSERT_TRUE(verifier) << verifier.error().text();
  std::vector<std::string> seeds[2];
  for (std::vector<std::string>& asked : seeds) {
    auto verdict = (*verifier)->judge(options);
    ASSERT_TRUE(verdict) << verdict.error().text();
    ASSERT_TRUE(verdict->passed()) << table(*verdict, {});
    for (const Json& trial : verdict->gate("correctness")->evidence->at("trials"))
      asked.push_back(word(trial, "seed"));
  }
  ASSERT_EQ(seeds[0].size(), seeds[1].size());
  int fresh = 0;
  for (size_t i = 0; i < seeds[0].size(); ++i) fresh += seeds[0][i] != seeds[1][i];
  EXPECT_EQ(fresh, 1);
}

// Starting one costs seconds where CUDA has to start: the process that was judged is the one that is
// profiled.
TEST(Processes, AreNotStartedForTheProfile) {
  int64_t started[2] = {};
  for (bool profile : {false, true}) {
    VerifyOptions options = options_for(testdata / "candidates/honest.cu");
    options.timing = options.rehearse_timing = false;
    options.profile = profile;
    const TimeAccount::Entries before = TimeAccount::all();
    auto verdict = verify(testdata / "row_center/graph", options);
    ASSERT_TRUE(verdict && verdict->passed());
    started[profile] = TimeAccount::since(before).at({TimeAccount::Kind::detail, "candidate: hello"}).times;
  }
  EXPECT_EQ(started[0], started[1]);
}

// "# NAME: value" among a Python candidate's first lines.
std::string said(const fs::path& file, const std::string& what) {
  const std::string mark = "# " + what + ": ";
  for (const std::string& line : lines_of(file)) {
    if (line.starts_with(mark)) return line.substr(mark.size());
    if (!line.starts_with("#") && !line.starts_with("\"\"\"")) break;
  }
  return "";
}

std::vector<fs::path> python_candidates() {
  const fs::path folder = testdata / "model_new_cheats";
  const char* asked = std::getenv("STITCHCUDA_CHEATS");
  std::vector<std::string> names = {"copies_from_gc", "tries_and_passes"};
  if (asked && !all_of_them()) names = split(asked, ',');
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool chosen =
        all_of_them() || std::ranges::find(names, entry.path().stem().string()) != names.end();
    if (chosen && entry.path().extension() == ".py") files.push_back(entry.path());
  }
  // Those of a task and class one after the other.
  std::ranges::sort(files, {}, [](const fs::path& file) {
    return std::tuple(said(file, "task"), said(file, "class"), file);
  });
  return files;
}

// PyTorch is asked once for all of a task.
TEST(PythonCheats, GetTheirVerdict) {
  VerifyOptions options = options_for("");
  options.time_limit = std::chrono::seconds(60);  // each imports PyTorch
  options.memory_limit = 0;
  options.remember_trials = true;
  options.seed = 20;
  std::unique_ptr<Verifier> verifier;
  std::string open = "nothing";
  for (const fs::path& file : python_candidates()) {
    const std::string task_name = said(file, "task"), numerics = said(file, "class");
    if (open != task_name + numerics) {
      open = task_name + numerics;
      verifier.reset();
      options.numerics = *parse_numerics(numerics.empty() ? "default" : numerics);
      auto task = open_task_to_judge(
          testdata / (task_name.empty() ? "row_center" : "tasks/" + task_name) / "task.py", {});
      ASSERT_TRUE(task) << task.error().text();
      auto opened = Verifier::open(*std::move(task), options);
      ASSERT_TRUE(opened) << opened.error().text();
      verifier = *std::move(opened);
    }
    options.program = file;
    auto verdict = judged_in_peace([&] { return verifier->judge(options); });
    if (was_too_busy(verdict)) {
      GTEST_LOG_(WARNING) << file.stem() << " was not judged: " << verdict.error().message;
      continue;
    }
    ASSERT_TRUE(verdict) << file << verdict.error().text();
    const std::vector<std::string> expected = expected_verdicts(file);
    if (std::getenv("STITCHCUDA_CHEATS"))
      std::cout << "verdict of " << file.stem().string() << ": " << in_words(*verdict) << std::endl;
    EXPECT_TRUE(std::ranges::find(expected, in_words(*verdict)) != expected.end())
        << file.stem() << ": expected " << join(expected, " or ") << "\n"
        << table(*verdict, {});
  }
}

INSTANTIATE_TEST_SUITE_P(, Candidates, testing::ValuesIn(candidates()),
                         [](const auto& info) { return info.param; });

}  // namespace stitch::verifier
