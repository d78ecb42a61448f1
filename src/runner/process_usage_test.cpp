#include "runner/process_usage.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace stitch::runner {

// Two threads on one core: each waits while the other has it.
TEST(WaitedForCores, CountsThreadsThatAreReadyAndHaveNone) {
  if (!fs::exists("/proc/self/schedstat")) GTEST_SKIP() << "this kernel doesn't count it";
  const int core = ::sched_getcpu();
  auto spin = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const double before = waited_for_cores(::getpid());
  std::thread first(spin), second(spin);
  // Those that ended are no longer counted.
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const double waited = waited_for_cores(::getpid()) - before;
  first.join();
  second.join();
  EXPECT_GT(waited, 0.05);
}

}  // namespace stitch::runner
