#include "base/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <mutex>
#include <set>
#include <thread>

namespace stitch {

namespace {

std::mutex lock;
std::set<std::filesystem::path>& folders() {
  static auto* all = new std::set<std::filesystem::path>;  // outlives every static destructor
  return *all;
}

// A thread that waits for signals may do what a signal handler may not: take locks, walk folders.
void wait_for_interrupt(sigset_t signals) {
  int number = 0;
  if (::sigwait(&signals, &number) != 0) return;
  {
    std::lock_guard hold(lock);
    std::error_code ignored;
    for (const auto& folder : folders()) std::filesystem::remove_all(folder, ignored);
  }
  ::signal(number, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::raise(number);
}

}  // namespace

void clean_up_on_interrupts() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(wait_for_interrupt, signals).detach();
}

void remove_if_interrupted(const std::filesystem::path& folder) {
  std::lock_guard hold(lock);
  folders().insert(folder);
}

void keep_if_interrupted(const std::filesystem::path& folder) {
  std::lock_guard hold(lock);
  folders().erase(folder);
}

}  // namespace stitch
