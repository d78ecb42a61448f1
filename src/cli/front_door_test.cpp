// What a new user's second run meets: files in the output folder, a better program there, sizes that can't
// fit.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/testdata/must.h"
#include "cli/testdata/ran.h"
#include "gpu/gpu_detect.h"

namespace stitch {
namespace {

constexpr const char* model = R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2
def get_inputs(): return [torch.randn({})]
def get_init_inputs(): return []
)";

class FrontDoor : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-door")));
    task = scratch->path() / "model.py";
    out = scratch->path() / "program";
    set_shape("8, 16");
  }
  void set_shape(const std::string& shape) {
    std::string text = model;
    text.replace(text.find("{}"), 2, shape);
    ASSERT_TRUE(write_file(task, text));
  }
  int run(std::vector<std::string> words) {
    const Ran ran = stitchcuda(std::move(words));
    said = ran.text();
    return ran.code;
  }
  int optimize(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"optimize", task, "-o", out, "--device", "emulated", "--budget", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  bool said_it(std::string_view text) const { return said.find(text) != std::string::npos; }
  std::string read(const std::string& name) {
    auto text = read_file(fs::path(out) / name);
    return text ? *text : "not there";
  }
  std::optional<ScratchFolder> scratch;
  std::string task, out, said;
};

TEST_F(FrontDoor, AHomeThatCannotBeWrittenTo) {
  std::map<std::string, std::optional<std::string>> before;
  for (const char* name : {"HOME", "STITCHCUDA_CACHE", "STITCHCUDA_STORE", "STITCHCUDA_STATE",
                           "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}) {
    const char* value = std::getenv(name);
    before[name] = value ? std::optional<std::string>(value) : std::nullopt;
    ::unsetenv(name);
  }
  ::setenv("HOME", "/proc/nobody", 1);
  EXPECT_EQ(optimize({"--quick"}), 0) << said;
  const std::string warning = "warning: cannot write to /proc/nobody/.cache/stitchcuda";
  EXPECT_TRUE(said_it(warning)) << said;
  EXPECT_EQ(said.find(warning), said.rfind(warning)) << said;
  EXPECT_TRUE(said_it("runs are not recorded")) << said;
  EXPECT_EQ(std::getenv("STITCHCUDA_CACHE"), nullptr);
  EXPECT_EQ(run({"completion", "bash"}), 0);
  EXPECT_FALSE(said_it("warning:"));
  for (const auto& [name, value] : before)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
}

// With a Python that says when it is started, and takes a minute.
TEST_F(FrontDoor, CtrlCEndsAnImport) {
  const fs::path started = scratch->path() / "started", python = scratch->path() / "python",
                 ended = scratch->path() / "ended", heard = scratch->path() / "heard";
  ASSERT_EQ(::mkfifo(started.c_str(), 0600), 0);
  ASSERT_TRUE(write_file(
      python, format("#!/bin/sh\necho > '{}'\nsleep 60\necho > '{}'\n", started.string(), ended.string())));
  fs::permissions(python, fs::perms::owner_all);
  const pid_t tool = ::fork();
  if (tool == 0) {
    clean_up_on_interrupts();
    const int code = optimize({"--python", python});
    const bool written = static_cast<bool>(write_file(heard, said));
    std::ofstream(started) << '\n';  // where no Python was started
    ::_exit(written ? code : 42);
  }
  std::ifstream pipe(started);
  pipe.get();
  ::kill(tool, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(tool, &status, 0), tool);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_FALSE(fs::exists(ended));
  EXPECT_EQ(must(read_file(heard)),
            "error: stopped before a first program had passed\n"
            "fix: run the same command again; nothing was written\n");
}

TEST_F(FrontDoor, AProgramIsPackagedAndJudgedWithItsOwnTaskOnly) {
  ASSERT_EQ(run({"code", task, "-o", out}), 0) << said;
  const std::string package = out + ".package", other = scratch->path() / "other.py";
  EXPECT_EQ(run({"package", out, "--task", task, "-o", package}), 0) << said;
  std::string text = *read_file(task);
  text.replace(text.find("relu"), 4, "tanh");  // the same tensors in and out
  ASSERT_TRUE(write_file(other, text));
  EXPECT_EQ(run({"package", out, "--task", other, "-o", package + "2"}), 2) << said;
  EXPECT_TRUE(said_it("the program's regions are of other operations")) << said;
  EXPECT_FALSE(fs::exists(package + "2"));
  set_shape("8, 17");
  EXPECT_EQ(run({"verify", out, "--task", task, "--device", "emulated", "--quick"}), 1) << said;
  EXPECT_TRUE(said_it("failed at load: a program for another task: input 0 is ")) << said;
}

TEST_F(FrontDoor, TheSameFolderAgain) {
  ASSERT_EQ(optimize(), 0) << said;
  EXPECT_NE(read("report.html"), "not there");
  EXPECT_EQ(optimize({"--quick"}), 2) << said;
  EXPECT_TRUE(said_it("the program there is better: it passed every gate, this one only the quick ones"))
      << said;
  EXPECT_EQ(optimize(), 0) << "nobody touched it: " << said;

  ASSERT_TRUE(write_file(fs::path(out) / "NOTES.md", "mine"));
  EXPECT_EQ(optimize(), 2);
  EXPECT_TRUE(said_it("holds files that stitchcuda did not write: NOTES.md")) << said;
  const std::string source = read("program.cu");
  ASSERT_TRUE(write_file(fs::path(out) / "program.cu", "// edited"));
  EXPECT_EQ(optimize(), 2);
  EXPECT_TRUE(said_it("holds files that were edited since: program.cu")) << said;
  EXPECT_EQ(read("program.cu"), "// edited");

  EXPECT_EQ(optimize({"--quick", "--force"}), 0) << said;
  EXPECT_TRUE(said_it("program.cu is now program.cu.edited")) << said;
  EXPECT_EQ(read("NOTES.md"), "mine");
  EXPECT_EQ(read("program.cu.edited"), "// edited");
  EXPECT_EQ(read("program.cu"), source);
  EXPECT_EQ(run({"verify", out, "--task", task, "--device", "emulated", "--quick"}), 0) << said;
}

TEST_F(FrontDoor, CodePackageAndImportAskToo) {
  for (std::vector<std::string> words :
       std::vector<std::vector<std::string>>{{"code", task, "-o", out},
                                             {"import", task, "-o", out + ".graph"},
                                             {"package", out, "-o", out + ".package"}}) {
    SCOPED_TRACE(words[0]);
    const fs::path folder = words.back();
    ASSERT_EQ(run(words), 0) << said;
    ASSERT_EQ(run(words), 0) << said;
    ASSERT_TRUE(write_file(folder / "NOTES.md", "mine"));
    EXPECT_EQ(run(words), 2);
    EXPECT_TRUE(said_it("--force")) << said;
    words.emplace_back("--force");
    EXPECT_EQ(run(words), 0) << said;
    EXPECT_EQ(*read_file(folder / "NOTES.md"), "mine");
    fs::remove(folder / "NOTES.md");
  }
}

TEST_F(FrontDoor, BaselinesWithoutAGpuSayWhatToDo) {
  if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(run({"baselines", task}), 2);
  EXPECT_TRUE(said_it("fix: baselines are timed on a GPU: run this on a machine that has one")) << said;
}

TEST_F(FrontDoor, SizesThatCannotFitAreRefusedAtOnce) {
  set_shape("100000000, 3072");  // 1.23 TB
  EXPECT_EQ(optimize(), 2) << said;
  EXPECT_TRUE(said_it("its tensors can't fit")) << said;
  EXPECT_TRUE(said_it("1.23 TB")) << said;
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace stitch
