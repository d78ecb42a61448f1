// testdata/bad holds inputs that are wrong, each with a .case file beside it: the command line, the
// exit code, and to the letter what is said about it. Cases of .py files need PyTorch.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "cli/testdata/ran.h"
#include "import/python.h"

namespace stitch {
namespace {

const fs::path folder = STITCH_SOURCE_DIR "/src/cli/testdata/bad";

bool has_torch() {
  static const bool there = [] {
    auto python = find_python();
    if (!python) return false;
    auto finished = run({{python->string(), "-c",
                          "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"},
                         {},
                         {}});
    return finished && finished->exit_code == 0;
  }();
  return there;
}

// Progress lines are for people who wait, not part of the message.
std::string without_progress(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty() && !line.starts_with("importing")) out += line + "\n";
  return out;
}

// Line by line; … stands for what PyTorch says, which changes with its version.
bool matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> lines = split(text, '\n'), patterns = split(pattern, '\n');
  return std::ranges::equal(lines, patterns, [](const std::string& line, const std::string& expected) {
    size_t dots = expected.find("…");
    if (dots == std::string::npos) return line == expected;
    return line.starts_with(expected.substr(0, dots)) &&
           line.ends_with(expected.substr(dots + std::string("…").size()));
  });
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".case") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class BadInput : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::current_path(folder);
  }
  void TearDown() override { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST_P(BadInput, GetsItsMessage) {
  auto text = must(read_file(folder / (GetParam() + ".case")));
  size_t first = text.find('\n'), second = text.find('\n', first + 1);
  std::string command = text.substr(0, first), expected_exit = text.substr(first + 1, second - first - 1),
              message = text.substr(second + 1);
  if (command.find(".py") != std::string::npos && !has_torch()) GTEST_SKIP() << "needs PyTorch";
  Ran said = stitchcuda(split(command, ' '));
  EXPECT_EQ(format("exit {}", said.code), expected_exit);
  EXPECT_TRUE(matches(without_progress(said.err), message)) << "said:\n"
                                                            << said.err << "expected:\n"
                                                            << message;
  EXPECT_EQ(said.out, "");
  EXPECT_FALSE(fs::exists(folder / "out")) << "something half-written was left";
}

INSTANTIATE_TEST_SUITE_P(All, BadInput, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

class Import : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << "needs PyTorch";
    scratch.emplace(must(ScratchFolder::create("stitch_test")));
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch->path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
  std::optional<ScratchFolder> scratch;
};

TEST_F(Import, AFullDiskLeavesNothingAndSaysSo) {
  // A limit on file sizes stands in for a full disk: the weights don't fit, the rest would.
  rlimit limit{}, small{};
  getrlimit(RLIMIT_FSIZE, &limit);
  small = {1 << 20, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  Ran said = stitchcuda(
      {"import", STITCH_SOURCE_DIR "/examples/resnet18.py", "-o", (scratch->path() / "out").string()});
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(said.code, 1) << said.err;
  EXPECT_NE(said.err.find("cannot write"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("free some space"), std::string::npos) << said.err;
  EXPECT_TRUE(left().empty()) << left()[0];
}

TEST_F(Import, AFailureKeepsTheGraphThatWasThere) {
  std::string out = (scratch->path() / "out").string();
  ASSERT_EQ(stitchcuda({"import", STITCH_SOURCE_DIR "/examples/mlp.py", "-o", out}).code, 0);
  auto before = read_file(fs::path(out) / "graph.txt");
  EXPECT_EQ(stitchcuda({"import", (folder / "data_dependent.py").string(), "-o", out}).code, 2);
  EXPECT_EQ(*read_file(fs::path(out) / "graph.txt"), *before);
  EXPECT_EQ(left(), std::vector<std::string>{"out"});
}

TEST_F(Import, APythonWithoutTorchIsNamed) {
  fs::path python = scratch->path() / "python";
  ASSERT_TRUE(
      write_file(python, format("#!/bin/sh\nexec {} -S \"$@\"\n", find_program("python3")->string())));
  ::chmod(python.c_str(), 0755);
  Ran said = stitchcuda({"import", STITCH_SOURCE_DIR "/examples/mlp.py", "-o",
                         (scratch->path() / "out").string(), "--python", python.string()});
  EXPECT_EQ(said.code, 2) << said.err;
  EXPECT_NE(said.err.find("PyTorch is not installed for"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("pip install torch"), std::string::npos) << said.err;
}

TEST_F(Import, ManyTasksAndTheirFailuresInOneTable) {
  Ran said = stitchcuda(
      {"import", "--all", folder.string(), "-o", (scratch->path() / "out").string(), "--jobs", "2"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("unknown_operator.py"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("aten.special_bessel_j0.default"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("1 of "), std::string::npos) << said.out;  // sizes_two_paths, at its own sizes
}

// Processes that inherited this mark in their environment.
int marked_processes(const std::string& mark) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    auto environment = read_file(entry.path() / "environ");
    count += environment && environment->find(mark) != std::string::npos;
  }
  return count;
}

class StoppedImport : public Import, public testing::WithParamInterface<int> {};

TEST_P(StoppedImport, LeavesNoProcessAndNoFolderBehind) {
  std::string mark = format("STITCH_TEST_MARK=stopped-{}-{}", ::getpid(), GetParam());
  Command command;
  command.words = {STITCH_BINARY_DIR "/stitchcuda", "import", STITCH_SOURCE_DIR "/examples/resnet18.py", "-o",
                   (scratch->path() / "out").string()};
  command.extra_environment["STITCH_TEST_MARK"] = mark.substr(mark.find('=') + 1);
  int pid = ::fork();
  if (pid == 0) {
    ::setenv("STITCH_TEST_MARK", command.extra_environment["STITCH_TEST_MARK"].c_str(), 1);
    std::vector<char*> words;
    for (std::string& word : command.words) words.push_back(word.data());
    words.push_back(nullptr);
    ::close(1);
    ::close(2);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  // Until the exporter has forked the child that does the work: the tool, the server, the child.
  for (int i = 0; i < 3000 && marked_processes(mark) < 3; ++i) ::usleep(50'000);
  EXPECT_GE(marked_processes(mark), 3);
  ::kill(pid, GetParam());
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  for (int i = 0; i < 1200 && marked_processes(mark) > 0; ++i) ::usleep(50'000);
  EXPECT_EQ(marked_processes(mark), 0);
  // After SIGKILL the next import into this folder cleans up.
  std::string out = (scratch->path() / "out").string();
  if (GetParam() == SIGKILL) {
    EXPECT_EQ(stitchcuda({"import", STITCH_SOURCE_DIR "/examples/mlp.py", "-o", out}).code, 0);
  }
  EXPECT_EQ(left().size(), GetParam() == SIGKILL ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Signals, StoppedImport, testing::Values(SIGINT, SIGTERM, SIGKILL));

TEST_F(Import, SameSeedSameWeights) {
  std::string first = (scratch->path() / "a").string(), second = (scratch->path() / "b").string(),
              third = (scratch->path() / "c").string();
  std::string model = STITCH_SOURCE_DIR "/examples/mlp.py";
  ASSERT_EQ(stitchcuda({"import", model, "-o", first}).code, 0);
  ASSERT_EQ(stitchcuda({"import", model, "-o", second}).code, 0);
  ASSERT_EQ(stitchcuda({"import", model, "-o", third, "--seed", "7"}).code, 0);
  auto weights = [](const std::string& out) { return *read_file(fs::path(out) / "weights.safetensors"); };
  EXPECT_EQ(weights(first), weights(second));
  EXPECT_NE(weights(first), weights(third));
}

}  // namespace
}  // namespace stitch
