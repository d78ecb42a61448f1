#include "sandbox/sandbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "sandbox/control_group.h"

namespace stitch::sandbox {
namespace {

bool stands(Wall wall) { return std::find(walls().begin(), walls().end(), wall) != walls().end(); }

#define SKIP_WITHOUT(condition, what) \
  if (!(condition)) GTEST_SKIP() << "this machine has no " what ": nothing stops a candidate here"

struct Outcome {
  int exit_code = -1;
  std::string output;
};

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create("stitch-sandbox-test");
    ASSERT_TRUE(folder);
    scratch_.emplace(*std::move(folder));
    auto other = ScratchFolder::create("stitch-sandbox-secret");
    ASSERT_TRUE(other);
    outside_.emplace(*std::move(other));
    ASSERT_TRUE(write_file(outside_->path() / "secret", "sesame\n"));
    policy_.writable = {scratch_->path()};
    policy_.may_start_processes = true;
    policy_.errors_to_output = true;
  }
  Outcome shell(const std::string& script) {
    auto command = confine({{"/bin/sh", "-c", script}, {{"TOLD", "yes"}}, std::chrono::seconds(20)}, policy_);
    EXPECT_TRUE(command) << command.error().text();
    Outcome out;
    auto finished = run(*command, [&](std::string_view line) { out.output.append(line) += '\n'; });
    EXPECT_TRUE(finished);
    out.exit_code = finished->exit_code;
    out.output += finished->error_tail;
    return out;
  }

  Policy policy_;
  std::optional<ScratchFolder> scratch_, outside_;
};

TEST_F(Sandbox, SaysWhatStandsHere) {
  EXPECT_TRUE(stands(Wall::limits));
  EXPECT_NE(describe_walls().find("limits"), std::string::npos) << describe_walls();
}

TEST_F(Sandbox, RunsACommandAndKeepsItsExitCode) {
  Outcome outcome = shell("echo hello; exit 7");
  EXPECT_EQ(outcome.output, "hello\n");
  EXPECT_EQ(outcome.exit_code, 7);
}

TEST_F(Sandbox, RunsAProgramWhosePathLeadsThroughAnotherFolder) {
  const fs::path bin = outside_->path() / "bin", other = outside_->path() / "other";
  ASSERT_TRUE(fs::create_directory(bin) && fs::create_directory(other));
  fs::create_symlink("/bin/echo", bin / "say");
  auto command =
      confine({{(other / ".." / "bin" / "say").string(), "hello"}, {}, std::chrono::seconds(20)}, policy_);
  ASSERT_TRUE(command) << command.error().text();
  std::string said;
  auto finished = run(*command, [&](std::string_view line) { said += line; });
  ASSERT_TRUE(finished);
  EXPECT_EQ(said, "hello") << finished->error_tail;
}

TEST_F(Sandbox, ReadsNothingOutside) {
  SKIP_WITHOUT(keeps_files_apart(), "Landlock and no bubblewrap");
  Outcome outcome = shell("cat " + (outside_->path() / "secret").string() + " /etc/passwd /proc/1/environ");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output.find("sesame"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("root:"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("PATH="), std::string::npos) << outcome.output;
}

TEST_F(Sandbox, ReadsWhatThePolicyNames) {
  policy_.readable = {outside_->path()};
  EXPECT_EQ(shell("cat " + (outside_->path() / "secret").string()).output, "sesame\n");
}

TEST_F(Sandbox, WritesOnlyToScratch) {
  SKIP_WITHOUT(keeps_files_apart(), "Landlock and no bubblewrap");
  policy_.readable = {outside_->path()};
  Outcome outcome = shell("echo mine > file && cat file; echo x > " + (outside_->path() / "secret").string());
  EXPECT_NE(outcome.output.find("mine"), std::string::npos) << outcome.output;
  EXPECT_EQ(*read_file(outside_->path() / "secret"), "sesame\n");
  EXPECT_EQ(*read_file(scratch_->path() / "file"), "mine\n");
}

TEST_F(Sandbox, HasACleanEnvironment) {
  ::setenv("STITCH_TEST_KEY", "sesame", 1);
  Outcome outcome = shell("env");
  EXPECT_EQ(outcome.output.find("sesame"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("HOME=" + scratch_->path().string()), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("TMPDIR=" + scratch_->path().string()), std::string::npos);
  EXPECT_NE(outcome.output.find("LOGNAME=candidate"), std::string::npos);
  EXPECT_NE(outcome.output.find("TOLD=yes"), std::string::npos);
}

TEST_F(Sandbox, HasNoNetwork) {
  SKIP_WITHOUT(stands(Wall::seccomp) || stands(Wall::network_namespace) || stands(Wall::bubblewrap),
               "wall against the network");
  if (!find_program("python3")) GTEST_SKIP() << "no python3 to try a socket with";
  Outcome outcome = shell(
      "/usr/bin/env python3 -S -E -c 'import socket; s = socket.socket(); s.settimeout(2); "
      "s.connect((\"1.1.1.1\", 53)); print(\"connected\")'");
  EXPECT_EQ(outcome.output.find("connected"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.exit_code, 0);
}

TEST_F(Sandbox, StartsNoProcessUnlessItMay) {
  SKIP_WITHOUT(stands(Wall::seccomp), "seccomp");
  policy_.may_start_processes = false;
  Outcome outcome = shell("/bin/true; echo survived");
  EXPECT_EQ(outcome.output.find("survived"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.exit_code, 128 + SIGSYS);
}

TEST_F(Sandbox, LimitsMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "with AddressSanitizer no process starts below such a limit";
#endif
  const std::string doubling = "awk 'BEGIN { s = \"x\"; for (i = 0; i < 29; ++i) s = s s; print length(s) }'";
  ASSERT_EQ(shell(doubling).output, "536870912\n");
  policy_.memory_limit = int64_t{256} << 20;
  EXPECT_EQ(shell(doubling).output.find("536870912"), std::string::npos);
}

TEST_F(Sandbox, LimitsFiles) {
  policy_.file_limit = 1 << 20;
  shell("head -c 3000000 /dev/urandom > large");
  std::error_code ignored;
  EXPECT_LE(fs::file_size(scratch_->path() / "large", ignored), uintmax_t{1} << 20);
}

TEST_F(Sandbox, InheritsNoDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);  // without close-on-exec, as careless code leaves them
  Outcome outcome = shell("ls /proc/self/fd | tr '\\n' ' '");
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(outcome.output, "0 1 2 3 \n");  // 3 is opened by ls
}

TEST_F(Sandbox, LeavesNoProcessBehind) {
  // setsid escapes the process group, but not the PID namespace.
  const std::string mark = format("3{}.{}", ::getpid(), ::time(nullptr));
  shell("setsid sleep " + mark + " & sleep 0.2");
  auto running = [&] {
    return std::ranges::any_of(fs::directory_iterator("/proc"), [&](const auto& entry) {
      auto words = read_file(entry.path() / "cmdline");
      return words && words->find(mark) != std::string::npos;
    });
  };
  bool gone = false;
  for (int i = 0; i < 3000 && !(gone = !running()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(gone) << mark;
}

// The same in a process with limits alone.
TEST_F(Sandbox, LeavesNoProcessBehindWithoutNamespaces) {
  for (const char* test : {"Sandbox.LeavesNoProcessBehind", "Sandbox.EndsWithItsParent"}) {
    auto finished = run({{"/proc/self/exe", std::string("--gtest_filter=") + test},
                         {{"STITCHCUDA_WALLS", "limits"}},
                         std::chrono::seconds(60)});
    ASSERT_TRUE(finished) << finished.error().text();
    EXPECT_EQ(finished->exit_code, 0) << test;
  }
}

TEST_F(Sandbox, MakesNothingThatOutlivesIt) {
  SKIP_WITHOUT(stands(Wall::seccomp), "seccomp");
  Outcome outcome = shell("ipcmk -M 4096 || echo refused");
  if (outcome.output.find("not found") != std::string::npos) GTEST_SKIP() << "no ipcmk to try it with";
  EXPECT_NE(outcome.output.find("refused"), std::string::npos) << outcome.output;
}

TEST_F(Sandbox, HoldsAToolThatTalksToItself) {
  SKIP_WITHOUT(can_confine_tools(), "walls for tools");
  if (!find_program("python3")) GTEST_SKIP() << "no python3 to try a socket with";
  policy_.own_network = true;
  ::setenv("STITCH_TEST_KEY", "sesame", 1);
  Outcome outcome = shell(
      "/usr/bin/env python3 -S -E -c 'import os, socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); "
      "s.listen(); socket.create_connection(s.getsockname(), 5); print(\"talked\", os.environ)\n"
      "try: socket.create_connection((\"1.1.1.1\", 53), 2); print(\"connected\")\n"
      "except OSError: pass'; cat " +
      (outside_->path() / "secret").string());
  EXPECT_NE(outcome.output.find("talked"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("connected"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("sesame"), std::string::npos) << outcome.output;
}

TEST_F(Sandbox, EndsWithItsParent) {
  const std::string mark = format("4{}.{}", ::getpid(), ::time(nullptr));
  const pid_t parent = ::fork();
  if (parent == 0) {
    shell("sleep " + mark);
    ::_exit(0);
  }
  auto running = [&] {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      auto words = read_file(entry.path() / "cmdline");
      if (words && words->starts_with("sleep") && words->find(mark) != std::string::npos) return true;
    }
    return false;
  };
  bool seen = false;
  for (int i = 0; i < 3000 && !(seen = running()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(seen);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 3000 && !(gone = !running()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(gone) << "an orphan is left";
}

TEST(Seal, KillsWhoeverOpensASocket) {
  SKIP_WITHOUT(stands(Wall::seccomp), "seccomp");
  const pid_t child = ::fork();
  if (child == 0) {
    if (!seal_process()) ::_exit(1);
    ::socket(AF_INET, SOCK_STREAM, 0);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(Seal, LetsAProcessAbortAndStartThreads) {
  SKIP_WITHOUT(stands(Wall::seccomp), "seccomp");
  const pid_t child = ::fork();
  if (child == 0) {
    seal_process();
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    if (ran && ::kill(::getppid(), 0) != 0) std::abort();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

}  // namespace
// This user can seldom create groups in the real tree, so this one is fake: checks which folder is chosen and
// what is written.
TEST(ControlGroup, IsMadeWhereBothControllersAre) {
  auto scratch = ScratchFolder::create("stitch-groups");
  ASSERT_TRUE(scratch);
  const fs::path root = scratch->path() / "root", slice = root / "app.slice", own = slice / "run.scope";
  fs::create_directories(own);
  const fs::path membership = scratch->path() / "membership";
  auto write = [](const fs::path& file, const char* text) { ASSERT_TRUE(write_file(file, text)); };
  write(membership, "4:memory:/elsewhere\n0::/app.slice/run.scope\n");
  EXPECT_EQ(place_for_groups(membership, root), fs::path()) << "no unified tree";
  write(root / "cgroup.controllers", "cpu memory pids\n");
  EXPECT_EQ(place_for_groups(membership, root), fs::path());
  write(slice / "cgroup.subtree_control", "memory\n");
  EXPECT_EQ(place_for_groups(membership, root), fs::path()) << "one controller is not both";
  write(slice / "cgroup.subtree_control", "cpu memory pids\n");
  EXPECT_EQ(place_for_groups(membership, root), slice);
  write(own / "cgroup.subtree_control", "memory pids\n");
  EXPECT_EQ(place_for_groups(membership, root), own);

  fs::create_directory(own / "stitch-1-0");  // left by a process that has ended
  auto group = make_group(own, {.memory = 1 << 20, .threads = 7});
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_FALSE(fs::exists(own / "stitch-1-0"));
  EXPECT_EQ(*read_file(*group / "memory.max"), "1048576");
  EXPECT_EQ(*read_file(*group / "pids.max"), "7");
  EXPECT_TRUE(join_group(*group));
  EXPECT_EQ(*read_file(*group / "cgroup.procs"), "0");
  EXPECT_FALSE(ran_out_of_memory(*group));
  write(*group / "memory.events", "low 0\noom 2\noom_kill 1\n");
  EXPECT_TRUE(ran_out_of_memory(*group));
  EXPECT_FALSE(make_group(scratch->path() / "nowhere", {})) << "no such place";
}

}  // namespace stitch::sandbox
