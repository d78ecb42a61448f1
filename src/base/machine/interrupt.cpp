#include "base/machine/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace stitch {

namespace {

std::mutex folders_lock;
std::atomic<int> polite = 0;
std::atomic<bool> requested = false;
std::mutex children_lock;
std::function<bool()> children_wanted_gone;  // under the lock
std::set<std::filesystem::path>& folders() {
  static auto* all = new std::set<std::filesystem::path>;  // outlives every static destructor
  return *all;
}

// A thread that waits for signals may do what a signal handler may not: take locks, walk folders.
void wait_for_interrupt(sigset_t signals) {
  int number = 0;
  do {
    if (::sigwait(&signals, &number) != 0) return;
  } while (number == SIGINT && polite > 0 && !requested.exchange(true));
  {
    std::lock_guard hold(folders_lock);
    std::error_code ignored;
    // Other threads and children are still at work, and may put a file where one was just removed.
    for (const auto& folder : folders())
      for (int tries = 0; tries < 20 && std::filesystem::exists(folder, ignored); ++tries) {
        if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::filesystem::remove_all(folder, ignored);
      }
  }
  ::signal(number, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::raise(number);
}

// Threads that a library started before main (OpenBLAS does) don't block the signals, and get them first.
pthread_t waiter;
void pass_on(int number) { ::pthread_kill(waiter, number); }

}  // namespace

void clean_up_on_interrupts() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread waiting(wait_for_interrupt, signals);
  waiter = waiting.native_handle();
  waiting.detach();
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {
    }, ours{};
    ours.sa_handler = pass_on;
    ours.sa_flags = SA_RESTART;
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(number, &ours, nullptr);
  }
}

StopPolitely::StopPolitely() { ++polite; }
StopPolitely::~StopPolitely() { --polite; }
bool stop_requested() { return requested; }

EndChildrenWhen::EndChildrenWhen(std::function<bool()> wanted) {
  std::lock_guard hold(children_lock);
  children_wanted_gone = std::move(wanted);
}
EndChildrenWhen::~EndChildrenWhen() {
  std::lock_guard hold(children_lock);
  children_wanted_gone = nullptr;
}
bool children_are_watched() {
  std::lock_guard hold(children_lock);
  return children_wanted_gone != nullptr;
}
bool children_should_end() {
  std::lock_guard hold(children_lock);
  return children_wanted_gone && children_wanted_gone();
}

void remove_if_interrupted(const std::filesystem::path& folder) {
  std::lock_guard hold(folders_lock);
  folders().insert(folder);
}

void keep_if_interrupted(const std::filesystem::path& folder) {
  std::lock_guard hold(folders_lock);
  folders().erase(folder);
}

}  // namespace stitch
