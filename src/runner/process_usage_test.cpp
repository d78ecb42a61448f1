#include "runner/process_usage.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace stitch::runner {

// Two threads on one core: one waits while the other runs.
TEST(WaitedForCores, CountsThreadsThatAreReadyAndHaveNone) {
  if (!fs::exists("/proc/self/schedstat")) GTEST_SKIP() << "this kernel doesn't count it";
  const int core = ::sched_getcpu();
  std::atomic<bool> enough = false;
  auto spin = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    while (!enough) {
    }
  };
  const double before = waited_for_cores(::getpid());
  std::thread first(spin), second(spin);
  double waited = 0;
  for (int i = 0; i < 6000 && waited < 0.05; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    waited = waited_for_cores(::getpid()) - before;
  }
  enough = true;
  first.join();
  second.join();
  EXPECT_GT(waited, 0.05);
}

TEST(CpuTime, CountsWhatRunsAndNotWhatSleeps) {
  auto of_this_thread = [] {
    timespec own{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    return int64_t{own.tv_sec} * 1'000'000'000 + own.tv_nsec;
  };
  constexpr int64_t spun = 20'000'000;
  const int64_t before = cpu_time_of(::getpid()), begin = of_this_thread();
  while (of_this_thread() < begin + spun) {
  }
  EXPECT_GE(cpu_time_of(::getpid()) - before, spun);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_LT(cpu_time_of(child), 1'000'000'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(cpu_time_of(child), 0) << "it is gone";
}

}  // namespace stitch::runner
