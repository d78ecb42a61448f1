// Candidates that misbehave: each gets its failure, and the next candidate works.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "runner/testdata/bench.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {
namespace {

using std::chrono::milliseconds;

struct Hostile {
  const char* name;
  FailureKind kind;
  const char* message;  // part of it
};
void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

bool stands(sandbox::Wall wall) {
  const auto& walls = sandbox::walls();
  return std::find(walls.begin(), walls.end(), wall) != walls.end();
}

class HostileCandidate : public testing::TestWithParam<Hostile> {};

Options quick() {
  Options options;
  options.time_limit = milliseconds(10'000);
  options.memory_limit = int64_t{512} << 20;
  return options;
}

TEST_P(HostileCandidate, GetsTheFailureItDeserves) {
  if (GetParam().kind == FailureKind::forbidden && !stands(sandbox::Wall::seccomp))
    GTEST_SKIP() << "this machine has no seccomp: candidates could start processes and use the network";
  Bench bench = Bench::create();
  Options options = quick();
  if (GetParam().kind == FailureKind::hung) options.time_limit = milliseconds(1500);
  {
    Candidate candidate = bench.start(options);
    auto failure = bench.use(candidate, GetParam().name);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, GetParam().kind) << name(failure->kind) << ": " << failure->message;
    EXPECT_NE(failure->message.find(GetParam().message), std::string::npos) << failure->message;
    EXPECT_LE(failure->printed.size(), size_t{64} << 10);
    if (failure->kind != FailureKind::refused) {
      auto again = candidate.place({&bench.x, 1});
      ASSERT_FALSE(again.ok());
      EXPECT_EQ(again.failure->message, failure->message) << "a dead candidate stays dead";
    }
  }
  Bench fresh = Bench::create();  // the candidate could write to the old arena
  Candidate next = fresh.start();
  EXPECT_FALSE(fresh.use(next, "honest"));
  EXPECT_TRUE(fresh.right(next));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileCandidate,
    testing::Values(Hostile{"crashes", FailureKind::crashed, "in call: it crashed with SIGSEGV"},
                    Hostile{"hangs", FailureKind::hung, "in call: it did not answer within 1.5"},
                    Hostile{"hangs_in_kernel", FailureKind::hung, "did not answer"},
                    Hostile{"takes_all_memory", FailureKind::out_of_memory, "its limit is"},
                    Hostile{"prints_without_end", FailureKind::output_limit, "it printed more than"},
                    Hostile{"forges_answers", FailureKind::broken_protocol, ""},
                    Hostile{"forks", FailureKind::forbidden, "in call: it made a system call"},
                    Hostile{"becomes_another", FailureKind::forbidden, "it made a system call"},
                    Hostile{"connects", FailureKind::forbidden, "it made a system call"},
                    Hostile{"leaves", FailureKind::left_early, "exit code 0"},
                    Hostile{"leaves_when_loaded", FailureKind::left_early, "in load: "},
                    Hostile{"refuses", FailureKind::refused, "this GPU lacks what I need"},
                    Hostile{"throws", FailureKind::crashed, "exception"},
                    Hostile{"faults", FailureKind::crashed, "broken"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Candidate, MayPrintWhatLooksLikeAnAnswer) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  EXPECT_FALSE(bench.use(candidate, "prints_answers"));
  EXPECT_TRUE(bench.right(candidate));
  EXPECT_NE(candidate.printed().find("\"ok\":true"), std::string::npos);
}

TEST(Candidate, SeesNothingOfItsOrchestrator) {
  if (!sandbox::keeps_files_apart()) GTEST_SKIP() << "this machine has neither Landlock nor bubblewrap";
  ::setenv("STITCH_TEST_SECRET", "sesame", 1);
  for (const char* path : {"/tmp/stitch-was-here", "/dev/shm/stitch-was-here", "/var/tmp/stitch-was-here"})
    fs::remove(path);
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  auto failure = bench.use(candidate, "spies");
  ASSERT_TRUE(failure);
  ASSERT_EQ(failure->kind, FailureKind::refused) << failure->message;
  EXPECT_EQ(failure->message.find("sesame"), std::string::npos) << failure->message;
  EXPECT_EQ(failure->message.find("read /etc"), std::string::npos) << failure->message;
  EXPECT_EQ(failure->message.find("read /root"), std::string::npos) << failure->message;
  // It may write to a private /tmp.
  for (const char* path : {"/tmp/stitch-was-here", "/dev/shm/stitch-was-here", "/var/tmp/stitch-was-here"})
    EXPECT_FALSE(fs::exists(path)) << path;
}

TEST(Candidate, IsSeenWritingPastTheEnd) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  EXPECT_FALSE(bench.use(candidate, "writes_past_the_end"));
  // Some of the four bytes may have had their new value already.
  EXPECT_EQ(bench.called.damage.find("output 0: "), 0u) << bench.called.damage;
  EXPECT_NE(bench.called.damage.find("bytes past its end"), std::string::npos) << bench.called.damage;
}

TEST(Candidate, IsSeenReadingPastTheEndByAddressSanitizer) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the runner itself is built with AddressSanitizer";
#endif
  Bench bench = Bench::create();
  bench.address_sanitizer = true;
  Options options;
  options.address_sanitizer = true;
  if (auto trial = Candidate::start(options, bench.arena); !trial) GTEST_SKIP() << trial.error().text();
  Candidate honest = bench.start();
  auto none = bench.use(honest, "honest");
  EXPECT_FALSE(none) << none->message << none->printed;
  EXPECT_TRUE(bench.right(honest));
  Candidate candidate = bench.start();
  auto failure = bench.use(candidate, "reads_past_the_end");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, FailureKind::crashed) << failure->message;
  EXPECT_NE(failure->printed.find("AddressSanitizer"), std::string::npos) << failure->printed;
}

TEST(Candidate, IsSeenKeepingAThread) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  EXPECT_FALSE(bench.use(candidate, "keeps_a_thread"));
  auto again = candidate.call(0, {&bench.vector, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value.threads_after, again.value.threads_before + 1);
}

pid_t parent_of(const std::string& status) {
  const size_t at = status.find("PPid:\t");
  return at == std::string::npos ? 0 : static_cast<pid_t>(std::atoi(status.c_str() + at + 6));
}

// The process `stitch-runner` below the process `ancestor`, or 0.
pid_t runner_below(pid_t ancestor) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = parse_integer(entry.path().filename().string());
    auto status = pid ? read_file(entry.path() / "status") : Result<std::string>(std::string());
    if (!status || status->find("stitch-runner") == std::string::npos) continue;
    for (pid_t above = parent_of(*status); above > 1;) {
      if (above == ancestor) return static_cast<pid_t>(*pid);
      auto next = read_file(format("/proc/{}/status", above));
      above = next ? parent_of(*next) : 0;
    }
  }
  return 0;
}

TEST(Candidate, DiesWithItsOrchestrator) {
  const fs::path library = candidate_library("hangs");
  const pid_t orchestrator = ::fork();
  if (orchestrator == 0) {
    Bench bench = Bench::create();
    Candidate candidate = bench.start();
    bench.use(candidate, "hangs");
    ::_exit(0);
  }
  pid_t runner = 0;
  for (int i = 0; i < 1200 && !runner; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    runner = runner_below(orchestrator);
  }
  ASSERT_GT(runner, 0) << "the candidate never started";
  ::kill(orchestrator, SIGKILL);
  ::waitpid(orchestrator, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 3000 && !gone; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    auto status = read_file(format("/proc/{}/status", runner));
    gone = !status || status->find("State:\tZ") != std::string::npos;
  }
  EXPECT_TRUE(gone) << "an orphan is left: " << runner;
}

}  // namespace
}  // namespace stitch::runner
