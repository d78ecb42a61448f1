#include "base/machine/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stitch {

namespace {
std::atomic<int> requested_threads = 0;
thread_local bool inside_loop = false;
}  // namespace

int core_count() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

int thread_count() {
  if (requested_threads) return requested_threads;
  static const int told = [] {
    const char* text = std::getenv("STITCHCUDA_THREADS");
    return text ? std::atoi(text) : 0;
  }();
  return told > 0 ? std::min(told, core_count()) : core_count();
}

void set_thread_count(int count) { requested_threads = count; }

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  int threads = thread_count();
  grain = std::max<int64_t>(grain, 1);
  int64_t pieces = std::min<int64_t>((count + grain - 1) / grain, int64_t{threads} * 4);
  if (pieces <= 1 || threads <= 1 || inside_loop) return body(0, count);

  std::atomic<int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_lock;
  auto work = [&] {
    inside_loop = true;
    for (int64_t piece; (piece = next++) < pieces;) {
      try {
        // Balanced pieces without piece * count, which could overflow.
        int64_t size = count / pieces, rest = count % pieces;
        int64_t begin = piece * size + std::min(piece, rest);
        body(begin, begin + size + (piece < rest));
      } catch (...) {
        std::lock_guard hold(failure_lock);
        if (!failure) failure = std::current_exception();
        next = pieces;
      }
    }
    inside_loop = false;
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min<int64_t>(threads, pieces); ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stitch
