// Candidates that misbehave: each gets the failure it deserves, and the next candidate works.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "runner/testdata/bench.h"

namespace stitch::runner {
namespace {

using std::chrono::milliseconds;

struct Hostile {
  const char* name;
  FailureKind kind;
  const char* message;  // part of it
};
void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

class HostileCandidate : public testing::TestWithParam<Hostile> {};

Options quick() {
  Options options;
  options.time_limit = milliseconds(10'000);
  options.memory_limit = int64_t{512} << 20;
  return options;
}

TEST_P(HostileCandidate, GetsTheFailureItDeserves) {
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
  Bench fresh = Bench::create();  // what it could reach of the old arena is not to be trusted
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
                    Hostile{"prints_without_end", FailureKind::too_talkative, "it printed more than"},
                    Hostile{"forges_answers", FailureKind::broken_protocol, ""},
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

TEST(Candidate, IsSeenWritingPastTheEnd) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  EXPECT_FALSE(bench.use(candidate, "writes_past_the_end"));
  EXPECT_EQ(bench.called.damage, "output 0: 4 bytes past its end, the nearest 0 bytes past it");
}

TEST(Candidate, IsSeenKeepingAThread) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  EXPECT_FALSE(bench.use(candidate, "keeps_a_thread"));
  auto again = candidate.call(0, {&bench.vector, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value.threads_after, again.value.threads_before + 1);
}

// The process that runs `stitch-runner` for the test process `parent`, or 0.
pid_t runner_of(pid_t parent) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = parse_integer(entry.path().filename().string());
    if (!pid) continue;
    auto status = read_file(entry.path() / "status");
    if (status && status->find("stitch-runner") != std::string::npos &&
        status->find(format("PPid:\t{}\n", parent)) != std::string::npos)
      return static_cast<pid_t>(*pid);
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
  for (int i = 0; i < 200 && !runner; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    runner = runner_of(orchestrator);
  }
  ASSERT_GT(runner, 0) << "the candidate never started";
  ::kill(orchestrator, SIGKILL);
  ::waitpid(orchestrator, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 100 && !gone; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    auto status = read_file(format("/proc/{}/status", runner));
    gone = !status || status->find("State:\tZ") != std::string::npos;
  }
  EXPECT_TRUE(gone) << "an orphan is left: " << runner;
}

}  // namespace
}  // namespace stitch::runner
