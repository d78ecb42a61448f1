// Runs one block's CUDA threads on one OS thread.
//
// A fiber runs CUDA threads one after the other by plain calls until one has to wait; then it switches
// directly to another fiber. Kernels without barriers never switch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fiber.h"
#include "launch_state.h"
#include "stitch/core.h"

namespace stitch_emulated {

enum class Wait : uint8_t { none, block_barrier, named_barrier, warp, active_mask, condition };

// Members used by barriers come first: one cache line.
struct alignas(64) Thread : ThreadView {
  Thread* next = nullptr;  // in its queue
  Fiber* fiber = nullptr;
  const char* what = nullptr;  // what it waits for
  unsigned line = 0;           // where
  Wait wait = Wait::none;
  bool done = false;
  uint8_t source = 0;   // the lane it shuffles from
  uint8_t barrier = 0;  // the named barrier it waits at

  uint64_t value = 0;    // its operand of a collective, then its result
  void* mine = nullptr;  // likewise, for exchange_with
  uint32_t mask = 0;     // lanes it waits for
  Collective kind{};     // of the meeting
  bool (*ready)(void*) = nullptr;
  void (*finish)(void* const*, unsigned) = nullptr;  // of exchange_with
};

// First in, first out.
struct Queue {
  Thread *head = nullptr, *tail = nullptr;
  bool empty() const { return !head; }
  void push(Thread* thread) {
    thread->next = nullptr;
    (head ? tail->next : head) = thread;
    tail = thread;
  }
  Thread* pop() {
    Thread* thread = head;
    head = thread->next;
    return thread;
  }
  void append(Queue& other) {
    if (other.empty()) return;
    (head ? tail->next : head) = other.head;
    tail = other.tail;
    other.head = nullptr;
  }
};

struct Warp {
  uint32_t alive = 0, arrived = 0;  // lanes
};

struct NamedBarrier {
  Queue waiting;
  unsigned arrived = 0, expected = 0;
};

// An OS thread's state for running blocks; lives as long as the OS thread.
class [[gnu::visibility("hidden")]] Worker {
 public:
  Worker();
  // Runs one block until it ends or fails; failures are reported to the launch.
  void run_block(LaunchState & launch, uint64_t block_number);

  // Called by the block's threads through core.h.
  int block_barrier(Vote vote, int predicate, const char* what, unsigned line);
  void named_barrier(unsigned id, unsigned threads, bool wait, unsigned line);
  uint64_t exchange(Collective kind, unsigned mask, uint64_t value, unsigned source, const char* what,
                    unsigned line);
  void exchange_with(unsigned mask, void* mine, void (*finish)(void* const*, unsigned), const char* what,
                     unsigned line);
  unsigned active_mask(const char* what, unsigned line);
  void wait_until(bool (*ready)(void*), void* context, const char* what, unsigned line);
  void yield_thread();
  void grid_barrier(unsigned line);
  // Ends the block and abandons its threads.
  [[noreturn]] void fail(int error, std::string report);
  std::string place(const Thread& thread) const;
  LaunchState& launch() { return *launch_; }

 private:
  static void fiber_main(void* fiber);
  void enter(Thread * thread) {
    *current_ = thread;
    *thread_index_ = thread->index;
  }
  void prepare_threads();
  void start_block(uint64_t block_number);
  void park(Thread * self, Wait wait, const char* what, unsigned line);
  Thread* next_ready();
  bool wake_someone();
  void finish(Thread * thread);
  void release_block_barrier();
  void release(Queue & queue);
  void choose_laggards(uint64_t block_number);
  void make_ready(Thread * thread) { (lags(thread) ? late_ : ready_).push(thread); }
  bool lags(const Thread* thread) const { return !laggards_.empty() && laggards_[thread->rank / 32]; }
  void join_meeting(Thread * self, unsigned mask, const char* what, unsigned line);
  bool complete(Warp & warp, Thread * first, unsigned mask);
  void wake_lanes(unsigned warp_rank, unsigned mask);
  std::string stuck_report() const;

  ThreadView** current_;  // this OS thread's `current` and `threadIdx`, cached
  uint3* thread_index_;
  BlockView view_{};
  LaunchState* launch_ = nullptr;
  uint64_t prepared_for_ = 0;  // the launch whose shape threads_ has
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<uint32_t> start_order_;
  uint32_t next_start_ = 0, live_ = 0;
  Queue ready_, at_barrier_;
  Queue late_;                  // ready, but only run when no other thread is
  std::vector<bool> laggards_;  // warps; empty: none
  bool block_lags_ = false;     // of a cooperative launch
  uint32_t at_barrier_count_ = 0;
  unsigned barrier_line_ = 0;  // where those wait
  const char* barrier_what_ = "";
  int vote_count_ = 0, vote_result_ = 0, vote_arrived_ = 0;
  bool failed_ = false;
  bool start_one_ = false;    // a thread that hasn't started comes before ready ones
  bool grid_leader_ = false;  // a thread of the block already waits for the grid
  uint64_t shuffles_ = 0, yields_ = 0;
  NamedBarrier named_[16];
  std::vector<Thread*> parked_;  // at __activemask or a condition
  std::vector<unsigned char> dynamic_shared_;
  FiberPool fibers_;
  Context home_;
};

// This OS thread's worker, created on first use.
Worker& this_worker();
// The same from a CUDA thread, without thread-local lookup.
inline Worker& worker_of(const ThreadView* thread) { return *static_cast<Worker*>(thread->block->worker); }

// OS threads that run launches.
// Runs `work` on the calling thread and on `helpers` others; returns when all are done.
void run_on_pool(unsigned helpers, const std::function<void()>& work);

}  // namespace stitch_emulated
