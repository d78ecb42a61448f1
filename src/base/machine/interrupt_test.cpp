#include "base/machine/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

namespace stitch {
namespace {

// How a process with a thread that a library started before main ends after a signal: OpenBLAS starts such
// threads, and they block nothing.
int end_after(int number, bool polite) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(600)); }).detach();
    clean_up_on_interrupts();
    std::optional<StopPolitely> stop;
    if (polite) stop.emplace();
    ::kill(::getpid(), number);
    for (int i = 0; i < 60'000 && !stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::_exit(stop_requested() ? 42 : 43);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Interrupt, APoliteStopIsARequestWhicheverThreadGetsTheSignal) {
  const int status = end_after(SIGINT, true);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

TEST(Interrupt, OthersEndTheProcess) {
  for (auto [number, polite] : {std::pair(SIGINT, false), std::pair(SIGTERM, true)}) {
    const int status = end_after(number, polite);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
  }
}

}  // namespace
}  // namespace stitch
