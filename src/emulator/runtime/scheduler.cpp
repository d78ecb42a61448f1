#include "scheduler.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "access_counters.h"
#include "stitch/host_types.h"

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace stitch_emulated {

__thread ThreadView* current = nullptr;
__thread unsigned spins = 0;

namespace {

constexpr useconds_t late_microseconds = 100;
constexpr uint64_t turns_before_laggards = 64;

}  // namespace

Worker& this_worker() {
  static thread_local std::unique_ptr<Worker> worker;
  if (!worker) worker = std::make_unique<Worker>();
  return *worker;
}

Worker::Worker() : fibers_(&Worker::fiber_main, settings().stack_bytes) {
  view_.worker = this;
  current_ = &current;
  thread_index_ = &threadIdx;
}

void Worker::prepare_threads() {
  const LaunchConfig& config = launch_->config;
  const uint32_t count = launch_->threads;
  if (count != threads_.size() || config.block.x != view_.size.x || config.block.y != view_.size.y) {
    threads_.assign(count, {});
    for (uint32_t i = 0; i < count; ++i) {
      threads_[i].rank = i;
      threads_[i].block = &view_;
      threads_[i].index = {i % config.block.x, i / config.block.x % config.block.y,
                           i / (config.block.x * config.block.y)};
    }
  }
  warps_.resize((count + 31) / 32);
  start_order_.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    start_order_[i] = launch_->order.kind == Order::reverse ? count - 1 - i : i;
  view_.size = config.block;
  view_.grid = config.grid;
  view_.dynamic_shared_bytes = static_cast<unsigned>(config.shared_bytes);
  if (dynamic_shared_.size() < config.shared_bytes + 1024) dynamic_shared_.resize(config.shared_bytes + 1024);
  // The largest alignment that programs need (1024 for swizzled tiles).
  auto address = reinterpret_cast<uintptr_t>(dynamic_shared_.data());
  view_.dynamic_shared = reinterpret_cast<void*>((address + 1023) & ~uintptr_t{1023});
  prepared_for_ = launch_->id;
}

void Worker::start_block(uint64_t number) {
  const dim3 grid = launch_->config.grid;
  view_.index = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                 static_cast<unsigned>(number / grid.x / grid.y)};
  blockIdx = view_.index;
  ++view_.epoch;
  view_.static_shared_bytes = 0;
  const auto count = static_cast<uint32_t>(threads_.size());
  for (Thread& thread : threads_) {
    thread.done = false;
    thread.wait = Wait::none;
  }
  for (uint32_t i = 0; i < warps_.size(); ++i) {
    uint32_t lanes = std::min(32u, count - 32 * i);
    warps_[i] = {lanes == 32 ? ~0u : (1u << lanes) - 1, 0};
  }
  if (launch_->order.kind == Order::shuffle) {
    Random random{launch_->order.seed ^ (number * 0x9E3779B97F4A7C15ull)};
    for (uint32_t i = count; i > 1; --i) std::swap(start_order_[i - 1], start_order_[random.below(i)]);
  }
  choose_laggards(number);
  next_start_ = 0;
  live_ = count;
  ready_ = at_barrier_ = late_ = {};
  at_barrier_count_ = 0;
  vote_count_ = 0;
  grid_leader_ = false;
  for (NamedBarrier& barrier : named_) barrier = {};
  parked_.clear();
  view_.poison = settings().poison;
  if (view_.dynamic_shared_bytes) std::memset(view_.dynamic_shared, view_.poison, view_.dynamic_shared_bytes);
}

// Alternates between one warp, the next one each time, and a random half. They also start last. In a
// cooperative launch half of the blocks lag, too.
void Worker::choose_laggards(uint64_t block_number) {
  laggards_.clear();
  block_lags_ = false;
  if (launch_->order.kind != Order::lag) return;
  Random random{launch_->order.seed ^ (launch_->id * 0x9E3779B97F4A7C15ull)};
  const size_t one = (launch_->order.seed + launch_->turn / 2) % warps_.size();
  for (size_t i = 0; i < warps_.size(); ++i) {
    const bool drawn = (random.next() & 1) != 0;
    laggards_.push_back(launch_->turn % 2 ? i == one : drawn);
  }
  block_lags_ = launch_->together > 1 && (Random{random.next() + block_number}.next() & 1) != 0;
  std::stable_partition(start_order_.begin(), start_order_.end(),
                        [&](uint32_t rank) { return !laggards_[rank / 32]; });
}

void Worker::run_block(LaunchState& launch, uint64_t block_number) {
  launch_ = &launch;
  if (prepared_for_ != launch.id) {
    adopt_current_stack(home_);
    prepare_threads();
    blockDim = view_.size;
    gridDim = view_.grid;
  }
  start_block(block_number);
  begin_counting(launch, block_number);
  Fiber* first = fibers_.take();
  if (!first) return launch.fail(cudaErrorMemoryAllocation, "no memory for the stacks of CUDA threads");
  failed_ = false;
  switch_context(home_, first->context);
  current = nullptr;
  end_counting();
  launch.static_shared_bytes.store(view_.static_shared_bytes, std::memory_order_relaxed);
  if (failed_) fibers_.reset();
}

void Worker::fiber_main(void* argument) {
  auto* self = static_cast<Fiber*>(argument);
  entered_context(self->context);
  Worker& worker = this_worker();
  for (;;) {
    if ((worker.ready_.empty() || worker.start_one_) && worker.next_start_ < worker.threads_.size()) {
      worker.start_one_ = false;
      Thread* thread = &worker.threads_[worker.start_order_[worker.next_start_++]];
      thread->fiber = self;
      worker.enter(thread);
      spins = 0;
      const Kernel& kernel = *worker.launch_->kernel;
      kernel.invoke(kernel.function, worker.launch_->arguments);
      worker.finish(thread);
      continue;
    }
    if (Thread* next = worker.next_ready()) {
      worker.fibers_.give_back(self);
      worker.enter(next);
      switch_context(self->context, next->fiber->context);
    } else if (worker.live_ == 0) {
      worker.fibers_.give_back(self);
      switch_context(self->context, worker.home_);
    } else {
      worker.fail(cudaErrorLaunchFailure, worker.stuck_report());
    }
  }
}

// A ready thread, or null. Threads that haven't started are up to the caller.
Thread* Worker::next_ready() {
  if (!ready_.empty()) return ready_.pop();
  if (next_start_ < threads_.size() || (late_.empty() && !wake_someone())) return nullptr;
  return (ready_.empty() ? late_ : ready_).pop();
}

// Nothing else can run, so the lanes waiting at an __activemask are complete.
bool Worker::wake_someone() {
  for (size_t i = 0; i < parked_.size();) {
    Thread* thread = parked_[i];
    if (thread->wait == Wait::condition && thread->ready(thread->mine)) {
      parked_.erase(parked_.begin() + static_cast<ptrdiff_t>(i));
      make_ready(thread);
    } else {
      ++i;
    }
  }
  if (!ready_.empty() || !late_.empty()) return true;
  auto first = std::find_if(parked_.begin(), parked_.end(),
                            [](const Thread* thread) { return thread->wait == Wait::active_mask; });
  if (first == parked_.end()) return false;
  const Thread leader = **first;
  uint32_t mask = 0;
  auto together = [&](const Thread* thread) {
    return thread->wait == Wait::active_mask && thread->rank / 32 == leader.rank / 32 &&
           thread->line == leader.line && thread->what == leader.what;
  };
  for (const Thread* thread : parked_)
    if (together(thread)) mask |= 1u << (thread->rank & 31);
  for (Thread* thread : parked_) {
    if (!together(thread)) continue;
    thread->mask = mask;
    make_ready(thread);
  }
  std::erase_if(parked_,
                [&](const Thread* thread) { return (mask >> (thread->rank & 31) & 1) && together(thread); });
  return true;
}

// Switches away until `self`, which is in a wait queue, is woken.
void Worker::park(Thread* self, Wait wait, const char* what, unsigned line) {
  self->wait = wait;
  self->what = what;
  self->line = line;
  Thread* next = nullptr;
  if (!start_one_) next = next_ready();
  if (next) {
    if (next != self) {
      enter(next);
      switch_context(self->fiber->context, next->fiber->context);
    }
  } else if (next_start_ < threads_.size()) {
    Fiber* fiber = fibers_.take();
    if (!fiber) fail(cudaErrorMemoryAllocation, "no memory for the stacks of CUDA threads");
    switch_context(self->fiber->context, fiber->context);
  } else {
    fail(cudaErrorLaunchFailure, stuck_report());
  }
  self->wait = Wait::none;
}

void Worker::finish(Thread* thread) {
  thread->done = true;
  --live_;
  Warp& warp = warps_[thread->rank / 32];
  warp.alive &= ~(1u << (thread->rank & 31));
  // Ended threads count as arrived.
  if (live_ && at_barrier_count_ == live_) release_block_barrier();
  for (uint32_t rest = warp.arrived; rest;) {
    Thread* first = &threads_[thread->rank / 32 * 32 + static_cast<uint32_t>(__builtin_ctz(rest))];
    rest &= ~(first->mask | 1u << (first->rank & 31));
    if (complete(warp, first, first->mask)) wake_lanes(thread->rank / 32, first->mask & warp.alive);
  }
}

void Worker::release(Queue& queue) {
  if (launch_->order.kind == Order::shuffle) {
    std::vector<Thread*> all;
    while (!queue.empty()) all.push_back(queue.pop());
    Random random{launch_->order.seed + launch_->id * 7919 + ++shuffles_};
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    for (Thread* thread : all) queue.push(thread);
  }
  if (laggards_.empty()) return ready_.append(queue);
  while (!queue.empty()) make_ready(queue.pop());
}

void Worker::release_block_barrier() {
  count_barrier();
  launch_->note(Did::barriers);
  vote_result_ = vote_count_;
  vote_arrived_ = static_cast<int>(at_barrier_count_);
  vote_count_ = 0;
  at_barrier_count_ = 0;
  release(at_barrier_);
}

int Worker::block_barrier(Vote vote, int predicate, const char* what, unsigned line) {
  auto* self = static_cast<Thread*>(current);
  vote_count_ += predicate != 0;
  if (at_barrier_count_ == 0) {
    barrier_line_ = line;
    barrier_what_ = what;
  } else if (line != barrier_line_) {
    fail(cudaErrorLaunchFailure, place(*self) + " waits at " + what + " in line " + std::to_string(line) +
                                     " while others of its block wait at " + barrier_what_ + " in line " +
                                     std::to_string(barrier_line_) +
                                     ": all threads of a block have to reach the same barrier");
  }
  at_barrier_.push(self);
  // The last to arrive queues behind the others, to keep the order.
  if (++at_barrier_count_ == live_) release_block_barrier();
  park(self, Wait::block_barrier, what, line);
  switch (vote) {
    case Vote::count: return vote_result_;
    case Vote::all: return vote_result_ == vote_arrived_;
    case Vote::any: return vote_result_ > 0;
    default: return 0;
  }
}

void Worker::named_barrier(unsigned id, unsigned threads, bool wait, unsigned line) {
  auto* self = static_cast<Thread*>(current);
  if (id > 15 || threads == 0 || threads % 32)
    fail(cudaErrorLaunchFailure, place(*self) +
                                     ": a named barrier takes an id from 0 to 15 and a number of threads "
                                     "that is a multiple of 32, not id " +
                                     std::to_string(id) + " and " + std::to_string(threads) +
                                     " threads (line " + std::to_string(line) + ")");
  NamedBarrier& barrier = named_[id];
  if (barrier.arrived && barrier.expected != threads)
    fail(cudaErrorLaunchFailure, place(*self) + ": named barrier " + std::to_string(id) +
                                     " is waited for with " + std::to_string(barrier.expected) +
                                     " and with " + std::to_string(threads) + " threads (line " +
                                     std::to_string(line) + ")");
  barrier.expected = threads;
  if (wait) barrier.waiting.push(self);
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    release(barrier.waiting);
  }
  self->barrier = static_cast<uint8_t>(id);
  if (wait) park(self, Wait::named_barrier, "named barrier", line);
}

void Worker::wait_until(bool (*ready)(void*), void* context, const char* what, unsigned line) {
  if (ready(context)) return;
  auto* self = static_cast<Thread*>(current);
  self->ready = ready;
  self->mine = context;
  parked_.push_back(self);
  park(self, Wait::condition, what, line);
}

unsigned Worker::active_mask(const char* what, unsigned line) {
  auto* self = static_cast<Thread*>(current);
  parked_.push_back(self);
  park(self, Wait::active_mask, what, line);
  return self->mask;
}

void Worker::yield_thread() {
  auto* self = static_cast<Thread*>(current);
  sched_yield();
  if (block_lags_) ::usleep(late_microseconds);
  // Spinning threads yield to lagging ones after a while: they may wait for them.
  const bool gives_way = !laggards_.empty() && (lags(self) || ++yields_ % turns_before_laggards == 0);
  (gives_way ? late_ : ready_).push(self);
  // It may wait for a thread that hasn't started.
  start_one_ = next_start_ < threads_.size();
  park(self, Wait::none, "", 0);
}

void Worker::grid_barrier(unsigned line) {
  block_barrier(Vote::none, 0, "grid.sync", line);
  if (!grid_leader_) {
    grid_leader_ = true;
    LaunchState& launch = *launch_;
    bool stopped = false;
    {
      std::unique_lock lock(launch.mutex);
      const uint64_t generation = launch.grid_generation;
      launch.grid_line = line;
      if (++launch.grid_waiting == launch.together) {
        launch.grid_waiting = 0;
        ++launch.grid_generation;
        launch.grid_changed.notify_all();
      } else if (launch.grid_waiting + launch.grid_finished == launch.together) {
        lock.unlock();
        launch.fail_ended_blocks();
        stopped = true;
      } else {
        launch.grid_changed.wait(lock, [&] { return launch.grid_generation != generation || launch.stop; });
        stopped = launch.grid_generation == generation;
      }
    }
    if (stopped) fail(cudaErrorLaunchFailure, "");
  }
  block_barrier(Vote::none, 0, "grid.sync", line);
  if (block_lags_ && grid_leader_) ::usleep(late_microseconds);
  grid_leader_ = false;
}

void Worker::fail(int error, std::string report) {
  launch_->fail(error, std::move(report));
  failed_ = true;
  auto* self = static_cast<Thread*>(current);
  current = nullptr;
  switch_context(self->fiber->context, home_, true);
  __builtin_unreachable();
}

// core.h's functions, on the current thread.
void wait_until(bool (*ready)(void*), void* context, const char* what, unsigned line) {
  worker_of(current).wait_until(ready, context, what, line);
}
int block_barrier(Vote vote, int predicate, const char* what, unsigned line) {
  return worker_of(current).block_barrier(vote, predicate, what, line);
}
void named_barrier_sync(unsigned id, unsigned threads, unsigned line) {
  worker_of(current).named_barrier(id, threads, true, line);
}
void named_barrier_arrive(unsigned id, unsigned threads, unsigned line) {
  worker_of(current).named_barrier(id, threads, false, line);
}
unsigned active_mask(const char* what, unsigned line) { return worker_of(current).active_mask(what, line); }
void yield_thread() { current ? worker_of(current).yield_thread() : void(sched_yield()); }
unsigned block_of_cluster() { return blockIdx.x % worker_of(current).launch().config.cluster; }
// Every block of a cluster; clusters run one after the other.
void cluster_barrier(unsigned line) {
  if (worker_of(current).launch().config.cluster > 1) worker_of(current).grid_barrier(line);
}
bool grid_is_cooperative() { return worker_of(current).launch().config.cooperative; }
void grid_barrier(unsigned line) {
  Worker& worker = worker_of(current);
  if (!worker.launch().config.cooperative)
    worker.fail(cudaErrorLaunchFailure, worker.place(*static_cast<Thread*>(current)) +
                                            ": grid.sync() needs cudaLaunchCooperativeKernel (line " +
                                            std::to_string(line) + ")");
  worker.grid_barrier(line);
}

}  // namespace stitch_emulated
