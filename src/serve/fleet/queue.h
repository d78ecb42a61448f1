// A work queue for threads of this process and remote workers. Equal work is done once; work of a lost worker
// is queued again; a result counts once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"

namespace stitch::serve {

using SharedJson = std::shared_ptr<const Json>;

struct Work {
  std::string key;  // equal keys are equal work
  SharedJson payload;
};

struct Lease {
  uint64_t id = 0;
  Work work;
  double waited = 0;  // seconds since it was submitted
};

struct QueueOptions {
  size_t most_waiting = 4096;
  std::chrono::milliseconds lease_time{60'000};  // of remote workers, unless renewed
  std::function<std::chrono::steady_clock::time_point()> lease_clock = std::chrono::steady_clock::now;
  int most_losses = 3;  // then it is given up: it may be what crashes them
  SharedJson given_up;  // the result then
  // Called under the queue's lock, so that equal work is never started twice:
  std::function<SharedJson(const std::string& key)> recall;  // an earlier result; null: none
  std::function<bool(const Work& work)> accept;              // before it is queued; false: refuse it
  std::function<void(const Work& work, const SharedJson& result)> settle;  // before waiters are notified
  // Called without the lock: a remote worker got work; one was silent for too long, for the nth time with it.
  std::function<void(const std::string& worker, const Work& work)> on_leased;
  std::function<void(const std::string& worker, const Work& work, int losses)> on_lost;
};

struct QueueCounts {
  size_t waiting = 0, leased = 0;
  uint64_t submitted = 0, done = 0, lost = 0, twice = 0;  // twice: results that did not count
};

// "the worker n1:17 stopped responding; resnet goes to another one (loss 1 of 3)"
std::string lost_text(std::string_view worker, std::string_view work, int losses, int most);

class WorkQueue {
 public:
  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(const SharedJson& result)>;
  using Taken = std::function<void(std::optional<Lease> lease)>;

  explicit WorkQueue(QueueOptions options);
  ~WorkQueue();  // workers that wait get no work; waiters for results are not notified

  enum class Submitted : uint8_t { queued, joined, known, full, refused };
  // `done` is called once, by the thread that delivers the result; immediately if it is known. Not called if
  // the queue is full or `accept` refused.
  Submitted submit(const Work& work, Done done);
  // Waiting or leased.
  bool is_known(const std::string& key) const;
  // Adds a waiter; false: the work is not in the queue.
  bool attend(const std::string& key, Done done);
  // How many are before it; nothing: it is being worked on, or unknown.
  std::optional<size_t> position(const std::string& key) const;

  // For a thread of this process: nothing after `patience`, or when the queue ends.
  std::optional<Lease> take(std::chrono::milliseconds patience);
  // For a remote worker: `taken` is called with work, or after `patience` with nothing.
  void take_later(const std::string& worker, std::chrono::milliseconds patience, Taken taken);
  bool renew(uint64_t lease);  // false: another worker has the work by now, or it is done
  // Whether the result counted. An expired lease may still deliver first.
  bool hand_in(uint64_t lease, const std::string& key, SharedJson result);
  void give_back(uint64_t lease);  // the work is queued again, at the front
  void give_up(uint64_t lease);    // it can't be done: its result is `given_up`

  QueueCounts counts() const;
  std::map<std::string, int> workers() const;  // leases of each that has one

 private:
  struct Item {
    Work work;
    std::vector<Done> attending;
    Clock::time_point submitted = Clock::now();
    int losses = 0;
    uint64_t lease = 0;  // 0: it waits
  };
  struct Held {
    std::string key, worker;
    Clock::time_point until;
  };
  struct Parked {
    std::string worker;
    Clock::time_point until;
    Taken taken;
  };
  using Lock = std::unique_lock<std::mutex>;

  std::optional<Lease> next(const std::string& worker, Clock::time_point until);
  void serve_parked(Lock& lock);
  void watch();
  bool finish(const std::string& key, const SharedJson& result, Lock& lock);

  const QueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, ended_;
  std::map<std::string, Item> items_;
  std::deque<std::string> waiting_;
  std::map<uint64_t, Held> leases_;
  std::deque<Parked> parked_;
  uint64_t next_lease_;
  QueueCounts counts_;
  bool ending_ = false;
  std::thread watcher_;
};

}  // namespace stitch::serve
